//! The exact call as lines: every character visible, the dangerous part underlined.

use ratatui::style::Style;
use ratatui::text::Line;

use super::card_style::CardStyle;
use super::wrap::{Break, Piece, flow, width};
use crate::engine::{self, Card, Value, thousands};

/// Lines at the beginning that stay visible if the dangerous part is further down.
const HEAD: usize = 2;

/// The drawn call.
pub struct DrawnCall {
    /// Its lines.
    pub lines: Vec<Line<'static>>,
    /// A part was folded.
    pub folded: bool,
}

/// A line of the call before folding.
struct Row {
    line: Line<'static>,
    bytes: usize,
    marked: bool,
}

/// The call of a card.
pub fn call(card: &Card, pen: CardStyle) -> DrawnCall {
    let mut rows = Vec::new();
    let prompt = ("$ ".to_owned(), pen.look.faint());
    match &card.command {
        // If secrets were removed, the command is the redacted text.
        Some(command) if !card.hidden.is_empty() => {
            let pieces = [prompt, (command.clone(), Style::new())];
            let lines = flow(&pieces, pen.room, 2, Break::Anywhere);
            rows.extend(lines.into_iter().map(|line| row(line, false)));
        }
        _ => {
            let arguments = engine::read_json(&card.arguments).unwrap_or(Value::Null);
            let worst = card.reasons.iter().find(|reason| reason.span.is_some());
            let leaves = engine::leaves(&arguments, worst);
            if leaves.iter().all(|leaf| leaf.name.is_some()) {
                let tool = (card.tool.clone(), pen.look.strong());
                let lines = flow(&[tool], pen.room, 2, Break::Anywhere);
                rows.extend(lines.into_iter().map(|line| row(line, false)));
            }
            for leaf in &leaves {
                let label = match &leaf.name {
                    None => prompt.clone(),
                    Some(name) => (format!("{name}: "), pen.look.faint()),
                };
                leaf_rows(&mut rows, label, &leaf.text, leaf.marked, (card, pen));
            }
        }
    }
    if pen.open { all(rows) } else { fold(rows, pen) }
}

fn row(line: Line<'static>, marked: bool) -> Row {
    let bytes = line.spans.iter().map(|span| span.content.len()).sum();
    Row { line, bytes, marked }
}

/// One argument, line by line; a wrapped line is marked.
fn leaf_rows(
    rows: &mut Vec<Row>,
    label: Piece,
    text: &str,
    marked: Option<(usize, usize)>,
    (card, pen): (&Card, CardStyle),
) {
    let faint = pen.look.faint();
    // A long name leaves room for the text.
    let indent = width(&label.0).min(pen.room / 3);
    if text.is_empty() {
        let pieces = [label, ("\"\"".to_owned(), faint)];
        let lines = flow(&pieces, pen.room, indent, Break::Anywhere);
        return rows.extend(lines.into_iter().map(|line| row(line, false)));
    }
    let mut first = Some(label);
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        let end = start + line.len();
        let (from, to) = marked.unwrap_or((end, end));
        let at = |place: usize| line.floor_char_boundary(place.clamp(start, end) - start);
        let (before, rest) = line.split_at(at(from));
        let (danger, after) = rest.split_at(at(to).saturating_sub(before.len()).min(rest.len()));
        let shown = |part: &str| engine::sanitize(part, usize::MAX);
        let lead = first.take().unwrap_or_else(|| (" ".repeat(indent), Style::new()));
        let mut pieces = vec![
            lead,
            (shown(before), Style::new()),
            (shown(danger), pen.look.danger(Some(card.tier))),
            (shown(after), Style::new()),
        ];
        if whole.len() > line.len() {
            pieces.push((engine::LINE_BREAK.to_string(), faint));
        }
        let danger = pen.look.danger(Some(card.tier));
        for line in flow(&pieces, pen.room, indent, Break::Anywhere) {
            let marked = line.spans.iter().any(|span| span.style == danger);
            rows.push(row(line, marked));
        }
        start += whole.len();
    }
}

fn all(rows: Vec<Row>) -> DrawnCall {
    DrawnCall { lines: rows.into_iter().map(|row| row.line).collect(), folded: false }
}

/// Folds a long call around its dangerous part, and says how much is hidden.
fn fold(rows: Vec<Row>, pen: CardStyle) -> DrawnCall {
    let most = pen.fold.max(HEAD + 3);
    if rows.len() <= most {
        return all(rows);
    }
    let marked = rows.iter().position(|row| row.marked).unwrap_or(0);
    let kept = |at: usize| {
        if marked < most {
            return at < most;
        }
        at < HEAD || (at + 1 >= marked && at + 1 < marked + most - HEAD)
    };
    let mut lines = Vec::new();
    let mut hidden = 0;
    for (at, row) in rows.into_iter().enumerate() {
        if kept(at) {
            if hidden > 0 {
                lines.push(gap(hidden, pen));
                hidden = 0;
            }
            lines.push(row.line);
        } else {
            hidden += row.bytes;
        }
    }
    if hidden > 0 {
        lines.push(gap(hidden, pen));
    }
    DrawnCall { lines, folded: true }
}

fn gap(bytes: usize, pen: CardStyle) -> Line<'static> {
    let text = format!("… {} more bytes, Enter shows all", thousands(bytes as u64));
    Line::styled(text, pen.look.strong())
}
