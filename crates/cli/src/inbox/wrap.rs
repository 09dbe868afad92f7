//! Wraps text to a width and keeps its styles: exactly for calls, by words for sentences.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// A text in one style.
pub type Piece = (String, Style);

/// Where a line may be wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// Between words, if possible.
    Words,
    /// Anywhere: every character is shown, spaces too.
    Anywhere,
}

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { Span::raw(text).width() }
}

/// Lines of at most `room` columns; all but the first begin with `indent` spaces.
pub fn flow(pieces: &[Piece], room: usize, indent: usize, at: Break) -> Vec<Line<'static>> {
    let room = room.max(1);
    // A line must fit at least one character at any width.
    let indent = if indent + 8 > room { 0 } else { indent };
    let mut lines = Vec::new();
    let mut line: Vec<Cell> = Vec::new();
    let mut used = 0;
    for cell in cells(pieces) {
        if used + cell.width > room && !line.is_empty() {
            let rest = match at {
                Break::Anywhere => Vec::new(),
                Break::Words if cell.letter == ' ' => Vec::new(),
                Break::Words => last_word(&mut line, indent),
            };
            lines.push(joined(&line));
            line = blank(if lines.is_empty() { 0 } else { indent });
            line.extend(rest);
            used = line.iter().map(|cell| cell.width).sum();
            if at == Break::Words && cell.letter == ' ' {
                continue;
            }
        }
        used += cell.width;
        line.push(cell);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(joined(&line));
    }
    lines
}

/// A text truncated to a width; a sign marks the cut.
pub fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.chars().map(visible).collect();
    }
    let mut out = String::new();
    let mut used = 0;
    for letter in text.chars().map(visible) {
        let wide = width(letter.encode_utf8(&mut [0; 4]));
        if used + wide + 1 > room {
            break;
        }
        used += wide;
        out.push(letter);
    }
    if room > 0 {
        out.push('…');
    }
    out
}

#[derive(Clone, Copy)]
struct Cell {
    letter: char,
    style: Style,
    width: usize,
}

/// The text was sanitized before; any remaining character that would move the cursor is dropped.
fn visible(letter: char) -> char {
    if letter.is_control() { '\u{fffd}' } else { letter }
}

fn cells(pieces: &[Piece]) -> impl Iterator<Item = Cell> {
    pieces.iter().flat_map(|(text, style)| {
        text.chars().map(visible).map(|letter| {
            let width = width(letter.encode_utf8(&mut [0; 4]));
            Cell { letter, style: *style, width }
        })
    })
}

fn blank(count: usize) -> Vec<Cell> {
    vec![Cell { letter: ' ', style: Style::new(), width: 1 }; count]
}

/// Removes the word that does not fit from the end of a line; empty if it fills the line.
fn last_word(line: &mut Vec<Cell>, indent: usize) -> Vec<Cell> {
    match line.iter().rposition(|cell| cell.letter == ' ') {
        Some(at) if at >= indent && at > 0 => {
            let word = line.split_off(at + 1);
            line.pop();
            word
        }
        _ => Vec::new(),
    }
}

fn joined(line: &[Cell]) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for part in line.chunk_by(|one, other| one.style == other.style) {
        let text: String = part.iter().map(|cell| cell.letter).collect();
        let style = part.first().map(|cell| cell.style).unwrap_or_default();
        spans.push(Span::styled(text, style));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, room: usize, indent: usize, at: Break) -> Vec<String> {
        let lines = flow(&[(text.to_owned(), Style::new())], room, indent, at);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn no_line_is_wider_than_its_room_and_nothing_is_lost() {
        let texts = ["rm -rf /srv/build && echo done", "字字字字字字字", "", "aaaaaaaaaaaaaaaa b"];
        for text in texts {
            for room in 1..40 {
                for indent in [0, 2, 9] {
                    let exact = drawn(text, room, indent, Break::Anywhere);
                    let wide = |line: &String| width(line) <= room.max(2);
                    assert!(exact.iter().all(wide), "{room}: {exact:?}");
                    let kept: String = exact.concat();
                    let kept = kept.replace(' ', "");
                    assert_eq!(kept, text.replace(' ', ""));
                    let words = drawn(text, room, indent, Break::Words);
                    assert!(words.iter().all(wide), "{room}: {words:?}");
                    assert_eq!(words.concat().replace(' ', ""), text.replace(' ', ""));
                }
            }
        }
    }

    #[test]
    fn sentences_are_broken_between_words() {
        let lines = drawn("Deletes everything in /srv at once.", 16, 0, Break::Words);
        assert_eq!(lines, ["Deletes", "everything in", "/srv at once."]);
    }

    #[test]
    fn nothing_moves_the_cursor() {
        let lines = drawn("a\u{1b}[2J\nb\u{7}", 20, 0, Break::Anywhere);
        assert_eq!(lines, ["a\u{fffd}[2J\u{fffd}b\u{fffd}"]);
        assert_eq!(cut("a\u{1b}bcdef", 4), "a\u{fffd}b…");
    }
}
