//! A recorded call in one line: without secrets, safe to display.

use countersign_redact::{neutralize_markers, redact_text, sanitize_marked};
use countersign_risk::tools;

use crate::engine::{self, Assessment, Call};

/// How much of a call is shown, in bytes.
const LONGEST: usize = 110;
/// How much of a command is read for it.
const READ: usize = 2_000;

/// The command of a call, or its tool and what it would do.
pub fn example(call: &Call<'_>, assessment: &Assessment) -> String {
    if let Some((command, _)) = tools::command_text(&call.tool, &call.arguments) {
        let end = command.floor_char_boundary(READ);
        let command = command.get(..end).unwrap_or_default().trim();
        let plain = neutralize_markers(command);
        return sanitize_marked(&redact_text(&plain).text, LONGEST).text;
    }
    let tool = engine::sanitize(&call.tool, 60);
    let brief = engine::brief(call, assessment);
    sanitize_marked(&format!("{tool}: {brief}"), LONGEST).text
}
