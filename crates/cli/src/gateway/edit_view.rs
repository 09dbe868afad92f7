//! Shows the planned edit of a file as a difference.

use std::io::Write;

use countersign_gateways::install::plan::PlannedEdit;
use countersign_snapshot::diff::diff;

use super::scopes::shown;
use crate::diff_view::print_diff;
use crate::failure::Failure;
use crate::terminal::Paint;

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
    print_diff(out, paint, &lines)?;
    if lines.is_empty() {
        writeln!(out, "  only the line ends change")?;
    }
    Ok(writeln!(out)?)
}
