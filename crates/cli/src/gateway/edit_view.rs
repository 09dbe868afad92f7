//! Shows the planned edit of a file as a difference.

use std::io::Write;

use countersign_gateways::install::plan::PlannedEdit;
use countersign_snapshot::diff::{DiffLine, diff};

use super::scopes::shown;
use crate::failure::Failure;
use crate::gate::page;
use crate::terminal::Paint;

/// The longest line of a difference that is shown.
const LONGEST_LINE: usize = 400;
/// The most lines of a new file that are shown with the question.
const MOST_LINES: usize = 60;

/// How much of a new file is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// All of it.
    Whole,
    /// Only its name and length, if it is long.
    Brief,
}

pub(super) fn show_edit(
    out: &mut dyn Write,
    paint: Paint,
    edit: &PlannedEdit,
    detail: Detail,
) -> Result<(), Failure> {
    let path = shown(&edit.path);
    let whole_file = match (&edit.before, &edit.after) {
        (None, Some(text)) => Some(("new", text)),
        (Some(text), None) => Some(("removed", text)),
        _ => None,
    };
    if let Some((word, text)) = whole_file {
        let lines = text.lines().count();
        writeln!(out, "{} ({word}, {lines} lines)", paint.strong(path))?;
        // A long file would scroll the question away.
        if detail == Detail::Brief && lines > MOST_LINES {
            return Ok(writeln!(out, "  `--dry-run` shows all of it\n")?);
        }
    } else {
        writeln!(out, "{}", paint.strong(path))?;
    }
    let old = edit.before.as_deref().unwrap_or_default();
    let new = edit.after.as_deref().unwrap_or_default();
    let lines = diff(old, new);
    for line in &lines {
        let safe = |text: &str| page::safe(text, LONGEST_LINE);
        match line {
            DiffLine::Same(text) => writeln!(out, "  {}", safe(text))?,
            DiffLine::Out(text) => {
                writeln!(out, "{}", paint.with("31", format!("- {}", safe(text))))?;
            }
            DiffLine::In(text) => {
                writeln!(out, "{}", paint.with("32", format!("+ {}", safe(text))))?;
            }
            DiffLine::Gap => writeln!(out, "{}", paint.faint("  …"))?,
        }
    }
    if lines.is_empty() {
        writeln!(out, "  only the line ends change")?;
    }
    Ok(writeln!(out)?)
}
