//! The parts of a compound command in the terminal: the risky ones first.

use std::io::{self, Write};

use crate::engine::{self, Card};
use crate::terminal::{self, Paint};

/// How much of a part is shown; a card holds no longer one.
const TEXT: usize = 2000;

/// One line for each part, those that ask first: its number, tier, text and note.
pub struct PartLine {
    /// Its tier.
    pub tier: engine::Tier,
    /// Number and tier.
    pub label: String,
    /// The part, safe to show, and what is known of it.
    pub text: String,
}

/// The lines of a card; the parts that need no answer are one line unless `all`.
pub fn lines(card: &Card, all: bool) -> Vec<PartLine> {
    let sorted = card.segments_by_risk();
    let (asking, quiet): (Vec<_>, Vec<_>) =
        sorted.into_iter().partition(|(_, segment)| segment.asks && !segment.approved);
    let line = |(number, segment): &(usize, &engine::CardSegment)| {
        let note = if segment.approved { "  (approved before)" } else { "" };
        PartLine {
            tier: segment.tier,
            label: format!("{number}. {:<8}", segment.tier.label()),
            text: format!("{}{note}", engine::sanitize(&segment.text, TEXT)),
        }
    };
    let mut lines: Vec<PartLine> = asking.iter().map(line).collect();
    if all || quiet.len() == 1 {
        lines.extend(quiet.iter().map(line));
    } else if let Some((_, first)) = quiet.first() {
        let text = format!("{} parts that need no answer", quiet.len());
        lines.push(PartLine { tier: first.tier, label: " ".repeat(11), text });
    }
    lines
}

/// Prints the parts of a stored card.
pub fn print(out: &mut dyn Write, card: &Card, paint: Paint, all: bool) -> io::Result<()> {
    if card.segments.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for line in lines(card, all) {
        let label = paint.with(terminal::accent(line.tier), line.label);
        writeln!(out, "  {label} {}", line.text)?;
    }
    let hint = "One part alone: countersign approve WORDS --only NUMBER";
    writeln!(out, "  {}", paint.faint(hint))
}
