//! Prints the difference of two texts, as `diff` does, in colour.

use std::io::{self, Write};

use countersign_snapshot::diff::DiffLine;

use crate::gate::page;
use crate::terminal::Paint;

/// The longest line that is shown.
const LONGEST_LINE: usize = 400;

/// Prints the lines of a difference, without control characters.
pub(crate) fn print_diff(
    out: &mut dyn Write,
    paint: Paint,
    lines: &[DiffLine<'_>],
) -> io::Result<()> {
    let safe = |text: &str| page::safe(text, LONGEST_LINE);
    for line in lines {
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
    Ok(())
}
