//! Makes text safe to display: nothing in the result hides, reorders or imitates other text.
//!
//! A character is displayed as itself or as a marker such as `⟨U+202E⟩` or `⟨ESC⟩`. A line break
//! becomes `⏎`, a tab `⇥`, and long runs of invisible characters are counted: `⟨40 × line break⟩`.
//! Marker characters in the source become markers too, so two different texts never look alike. The
//! result is one line; an interface that wants lines may break after each `⏎`.

use std::borrow::Cow;

mod chars;
mod word;

#[cfg(test)]
mod tests;

pub use chars::{LINE_BREAK, TAB};

use chars::{Class, class, is_joiner, is_ours, is_right_to_left, is_stray};
use word::{Letters, Word};

/// Runs of at least this many invisible characters are counted instead of displayed.
const FOLD: usize = 17;

/// Counted runs of at least this many characters are treated as an attempt to push text out of
/// view.
const PADDING: usize = 64;

/// The longest unit whose repetition is counted, such as a line break followed by a space.
const UNIT: usize = 4;

/// A text that is safe to display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sanitized<'a> {
    /// Safe to display; borrowed if nothing had to be changed.
    pub text: Cow<'a, str>,
    /// How many bytes of the source were cut off at the end; the text ends with a note about them.
    pub hidden_bytes: usize,
    /// The displayed text differs from the source.
    pub altered: bool,
    /// The source contains something that would have misled a reader.
    pub deceptive: bool,
    /// The source contains right-to-left letters: isolate the text from its surroundings.
    pub right_to_left: bool,
}

/// The whole text, made safe to display. Injective: different texts give different results.
pub fn sanitize(text: &str) -> Sanitized<'_> {
    sanitize_within(text, usize::MAX)
}

/// The text made safe to display, at most `limit` bytes of it, with a note of how much is missing.
/// A truncated text must not be approvable with one tap.
pub fn sanitize_within(text: &str, limit: usize) -> Sanitized<'_> {
    if text.len() <= limit && is_plain(text) {
        return Sanitized {
            text: Cow::Borrowed(text),
            hidden_bytes: 0,
            altered: false,
            deceptive: false,
            right_to_left: false,
        };
    }
    let mut painter = Painter::new(text, limit);
    painter.paint(text);
    painter.finish(text)
}

/// A text that the caller sanitized before, at most `limit` bytes of it. Its markers stay as they
/// are; a character that a sanitized text cannot have becomes a marker. Not for texts of an agent:
/// their marker characters must become markers too.
pub fn sanitize_again(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit));
    for piece in text.split_inclusive(is_ours) {
        let marker = piece.chars().next_back().filter(|c| is_ours(*c));
        let end = piece.len() - marker.map_or(0, char::len_utf8);
        out.push_str(&sanitize(piece.get(..end).unwrap_or_default()).text);
        out.extend(marker);
    }
    let end = out.floor_char_boundary(limit.min(out.len()));
    let hidden = out.len() - end;
    out.truncate(end);
    if hidden > 0 {
        let note = format!("⟨{hidden} more bytes⟩");
        out.push_str(&note);
    }
    out
}

/// Printable ASCII without padding: true for nearly every text.
fn is_plain(text: &str) -> bool {
    let mut spaces = 0;
    text.bytes().all(|byte| {
        spaces = if byte == b' ' { spaces + 1 } else { 0 };
        matches!(byte, 0x20..=0x7E) && spaces < FOLD
    })
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

struct Painter {
    out: String,
    limit: usize,
    /// Bytes of the source that are in `out`.
    shown: usize,
    /// Set when a piece did not fit.
    full: bool,
    letters: Letters,
    deceptive: bool,
    right_to_left: bool,
}

impl Painter {
    fn new(text: &str, limit: usize) -> Painter {
        Painter {
            out: String::with_capacity(text.len().min(limit)),
            limit,
            shown: 0,
            full: false,
            letters: Letters::of(text),
            deceptive: false,
            right_to_left: false,
        }
    }

    fn paint(&mut self, text: &str) {
        let mut rest = text;
        // Continues to the end even when nothing more fits, because the part cut off may mislead as
        // well.
        while !rest.is_empty() {
            let blanks = rest.find(|c| !is_blank(c)).unwrap_or(rest.len());
            let (blank, tail) = rest.split_at(blanks);
            self.blanks(blank.as_bytes());
            let (token, tail) = tail.split_at(tail.find(is_blank).unwrap_or(tail.len()));
            self.token(token);
            rest = tail;
        }
    }

    fn finish(mut self, text: &str) -> Sanitized<'_> {
        let hidden_bytes = text.len().saturating_sub(self.shown);
        if hidden_bytes > 0 {
            let note = format!("⟨{hidden_bytes} more bytes⟩");
            self.out.push_str(&note);
        }
        Sanitized {
            altered: self.out != text,
            text: Cow::Owned(self.out),
            hidden_bytes,
            deceptive: self.deceptive,
            right_to_left: self.right_to_left,
        }
    }

    /// Adds the output for `bytes` bytes of the source, entirely or not at all.
    fn put(&mut self, piece: &str, bytes: usize) {
        if self.full || self.out.len().saturating_add(piece.len()) > self.limit {
            self.full = true;
        } else {
            self.out.push_str(piece);
            self.shown += bytes;
        }
    }

    fn put_char(&mut self, c: char) {
        self.put(c.encode_utf8(&mut [0; 4]), c.len_utf8());
    }

    /// A run of spaces, tabs and line ends.
    fn blanks(&mut self, run: &[u8]) {
        let mut rest = run;
        while let [first, tail @ ..] = rest {
            if let Some((unit, times)) = repetition(rest) {
                let names: Vec<_> = unit.iter().map(|&b| name(char::from(b))).collect();
                let bytes = unit.len() * times;
                self.put(&format!("⟨{times} × {}⟩", names.join(" + ")), bytes);
                self.deceptive |= bytes >= PADDING;
                rest = rest.get(bytes..).unwrap_or_default();
                continue;
            }
            match first {
                b'\n' => self.put(LINE_BREAK.encode_utf8(&mut [0; 4]), 1),
                b'\t' => self.put(TAB.encode_utf8(&mut [0; 4]), 1),
                b'\r' => {
                    // A carriage return alone overwrites the line in a terminal.
                    self.deceptive |= tail.first() != Some(&b'\n');
                    self.put("⟨CR⟩", 1);
                }
                other => self.put_char(char::from(*other)),
            }
            rest = tail;
        }
    }

    /// A run without white space.
    fn token(&mut self, token: &str) {
        let beside_ascii = token.bytes().any(|b| b.is_ascii_alphabetic());
        let mut word = Word::none();
        let mut rest = token;
        // A dash at the start of an option is not the hyphen that it looks like.
        let mut chars = token.chars();
        if let (Some(dash @ '\u{2013}'..='\u{2015}'), Some('a'..='z' | 'A'..='Z')) =
            (chars.next(), chars.next())
        {
            self.mark(dash, 1);
            self.deceptive = true;
            rest = rest.get(dash.len_utf8()..).unwrap_or_default();
        }
        while let Some(c) = rest.chars().next() {
            if word.is_over(rest) {
                word = Word::at(rest, beside_ascii, self.letters);
            }
            self.right_to_left |= is_right_to_left(c);
            let disguise = word.disguises(c) || (beside_ascii && is_stray(c));
            let class = if disguise { Class::Deceptive } else { class(c) };
            let mut bytes = c.len_utf8();
            if class == Class::Plain {
                self.put_char(c);
            } else {
                let same = rest.chars().take_while(|&next| next == c).count();
                let times = if same >= FOLD { same } else { 1 };
                self.mark(c, times);
                self.deceptive |= class == Class::Deceptive || (is_joiner(c) && beside_ascii);
                bytes *= times;
            }
            rest = rest.get(bytes..).unwrap_or_default();
        }
    }

    fn mark(&mut self, c: char, times: usize) {
        let name = name(c);
        let bytes = c.len_utf8() * times;
        if times == 1 {
            self.put(&format!("⟨{name}⟩"), bytes);
        } else {
            self.put(&format!("⟨{times} × {name}⟩"), bytes);
        }
    }
}

/// The shortest unit whose repetition at the start of a run of white space is long enough to count.
fn repetition(run: &[u8]) -> Option<(&[u8], usize)> {
    (1..=UNIT).find_map(|length| {
        let unit = run.get(..length)?;
        let times = run.chunks_exact(length).take_while(|chunk| *chunk == unit).count();
        (times > 1 && times * length >= FOLD).then_some((unit, times))
    })
}

/// The name of a character in a marker.
fn name(c: char) -> Cow<'static, str> {
    Cow::Borrowed(match c {
        '\0' => "NUL",
        '\u{7}' => "BEL",
        '\u{8}' => "BS",
        '\t' => "tab",
        '\n' => "line break",
        '\r' => "CR",
        '\u{1B}' => "ESC",
        ' ' => "space",
        '\u{7F}' => "DEL",
        other => return Cow::Owned(format!("U+{:04X}", u32::from(other))),
    })
}
