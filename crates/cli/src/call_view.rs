//! The exact call, with its dangerous part marked.

use std::io::{self, Write};

use crate::engine::thousands;
use crate::engine::{self, Call, Reason, Tier};
use crate::terminal::{Paint, columns, underline};

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub struct Fold {
    /// Lines per argument.
    pub lines: usize,
    /// Bytes per line.
    pub bytes: usize,
    /// Arguments per call.
    pub arguments: usize,
}

impl Fold {
    /// What fits a screen.
    pub const SHORT: Fold = Fold { lines: 8, bytes: 240, arguments: 12 };
    /// Everything, within limits.
    pub const OPEN: Fold = Fold { lines: usize::MAX, bytes: 64 * 1024, arguments: usize::MAX };
}

/// How the call is drawn.
#[derive(Debug, Clone, Copy)]
pub struct CallStyle {
    /// Colour or not.
    pub paint: Paint,
    /// The tier whose colour underlines the dangerous part.
    pub tier: Tier,
    /// How much is shown.
    pub fold: Fold,
}

/// Prints the call, its dangerous part underlined (or marked with ^^^^ without colour).
pub fn print(
    out: &mut dyn Write,
    call: &Call<'_>,
    worst: Option<&Reason>,
    pen: CallStyle,
) -> io::Result<()> {
    let leaves = engine::leaves(&call.arguments, worst);
    let only_command = leaves.iter().any(|leaf| leaf.name.is_none());
    if !only_command {
        writeln!(out, "  {}", pen.paint.strong(engine::sanitize(&call.tool, pen.fold.bytes)))?;
    }
    for leaf in leaves.iter().take(pen.fold.arguments) {
        let label = leaf.name.as_ref().map_or("$ ".to_owned(), |name| format!("  {name}: "));
        print_leaf(out, &label, &leaf.text, leaf.marked, pen)?;
    }
    let folded = leaves.len().saturating_sub(pen.fold.arguments);
    if folded > 0 {
        writeln!(
            out,
            "  {}",
            pen.paint.faint(format!("… {folded} more arguments, show all: --all"))
        )?;
    }
    Ok(())
}

fn print_leaf(
    out: &mut dyn Write,
    label: &str,
    text: &str,
    span: Option<(usize, usize)>,
    pen: CallStyle,
) -> io::Result<()> {
    if text.is_empty() {
        return writeln!(out, "  {label}{}", pen.paint.faint("\"\""));
    }
    let mut start = 0;
    let mut prefix = format!("  {label}");
    let mut marked_lines = 0_usize;
    let mut hidden = 0_usize;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let end = start + line.len();
        let mark = span.and_then(|(s, e)| {
            let (s, e) = (s.clamp(start, end), e.clamp(start, end));
            (s < e).then_some((s - start, e - start))
        });
        start = end + 1;
        marked_lines += usize::from(mark.is_some());
        // The first marked lines are never folded: they are the most important ones.
        if number >= pen.fold.lines && (mark.is_none() || marked_lines > pen.fold.lines) {
            hidden += line.len() + 1;
            continue;
        }
        print_gap(out, hidden, pen)?;
        hidden = 0;
        write!(out, "{prefix}")?;
        let marks = print_line(out, line, mark, pen)?;
        // A wrapped line is marked, so that two different texts never look alike.
        let broken = if end < text.len() { engine::LINE_BREAK.to_string() } else { String::new() };
        writeln!(out, "{}", pen.paint.faint(broken))?;
        if let (Paint::Plain, Some((indent, width))) = (pen.paint, marks) {
            writeln!(out, "{}{}", " ".repeat(columns(&prefix) + indent), "^".repeat(width))?;
        }
        prefix = " ".repeat(columns(&prefix));
    }
    print_gap(out, hidden, pen)
}

fn print_gap(out: &mut dyn Write, hidden: usize, pen: CallStyle) -> io::Result<()> {
    if hidden == 0 {
        return Ok(());
    }
    let bytes = thousands(hidden as u64);
    writeln!(out, "    {}", pen.paint.faint(format!("… {bytes} more bytes, show all: --all")))
}

/// Prints a line without its end; returns the position and width of the mark.
fn print_line(
    out: &mut dyn Write,
    line: &str,
    mark: Option<(usize, usize)>,
    pen: CallStyle,
) -> io::Result<Option<(usize, usize)>> {
    let (from, to) = mark.unwrap_or((line.len(), line.len()));
    let (before, rest) = line.split_at(boundary(line, from));
    let (marked, after) = rest.split_at(boundary(rest, to.saturating_sub(before.len())));
    let bytes = pen.fold.bytes;
    // Before the mark the end of the text matters, after it the beginning.
    let room = if marked.is_empty() { bytes } else { bytes / 3 };
    let cut = boundary(before, before.len().saturating_sub(room));
    let (skipped, before) = if marked.is_empty() { ("", before) } else { before.split_at(cut) };
    let mut lead = String::new();
    if !skipped.is_empty() {
        lead = format!("… {} bytes … ", thousands(skipped.len() as u64));
    }
    let before = clip(before, room);
    let marked = clip(marked, bytes);
    let after = clip(after, room);
    write!(out, "{}{before}", pen.paint.faint(&lead))?;
    write!(out, "{}{after}", pen.paint.with(underline(pen.tier), &marked))?;
    let place = (columns(&lead) + columns(&before), columns(&marked));
    Ok((!marked.is_empty()).then_some(place))
}

/// Sanitized text, truncated after `limit` bytes with a count of the rest.
fn clip(text: &str, limit: usize) -> String {
    let (head, tail) = text.split_at(boundary(text, limit));
    let shown = engine::sanitize(head, usize::MAX);
    if tail.is_empty() {
        return shown;
    }
    format!("{shown} … {} more bytes", thousands(tail.len() as u64))
}

fn boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, span: (usize, usize), fold: Fold) -> String {
        let mut out = Vec::new();
        let pen = CallStyle { paint: Paint::Plain, tier: Tier::High, fold };
        print_leaf(&mut out, "$ ", text, Some(span), pen).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_span_can_be_drawn() {
        let text = "é字\nrm -rf 🚨 /\n\n\u{1b}x";
        let tight = Fold { lines: 2, bytes: 3, arguments: 1 };
        for start in 0..=text.len() + 2 {
            for end in 0..=text.len() + 2 {
                for fold in [Fold::SHORT, Fold::OPEN, tight] {
                    assert!(!drawn(text, (start, end), fold).is_empty());
                }
            }
        }
    }

    #[test]
    fn the_mark_stands_below_its_part() {
        assert_eq!(drawn("ls; rm x", (4, 8), Fold::SHORT), "  $ ls; rm x\n        ^^^^\n");
    }

    #[test]
    fn a_long_line_keeps_its_mark() {
        let text = format!("{}rm -rf /{}", "a".repeat(1000), "b".repeat(1000));
        let drawn = drawn(&text, (1000, 1008), Fold::SHORT);
        assert!(drawn.starts_with("  $ … 920 bytes … aaa"), "{drawn}");
        assert!(drawn.contains("rm -rf /bbb") && drawn.contains("b … 920 more bytes"), "{drawn}");
        let marks = drawn.lines().nth(1).unwrap();
        assert_eq!(marks.trim(), "^^^^^^^^");
    }
}
