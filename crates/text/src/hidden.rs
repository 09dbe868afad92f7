//! Finds characters that hide or deceive: zero-width, bidi, tags, control codes, mixed scripts.

use serde::Serialize;

use super::fold::{is_bidi, is_cyrillic_or_greek, is_tag, is_zero_width};
use countersign_types::span::Span;

/// How a span hides or deceives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HiddenKind {
    /// Characters without width.
    ZeroWidth,
    /// Characters that change the direction of the text.
    Bidi,
    /// Tag characters: invisible copies of ASCII.
    Tag,
    /// An ANSI escape or another control code.
    Control,
    /// One word that mixes two scripts whose letters look alike.
    MixedScript,
}

/// One span of hidden or deceptive characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HiddenText {
    /// Byte offsets in the text.
    pub span: Span,
    /// How it hides.
    pub kind: HiddenKind,
}

/// Every hidden or deceptive span, in order. Nearly free for printable ASCII.
pub fn hidden(text: &str) -> Vec<HiddenText> {
    let plain = |b: &u8| (0x20..=0x7E).contains(b) || *b == b'\n' || *b == b'\t';
    let odd = text.as_bytes().iter().fold(false, |odd, b| odd | !plain(b));
    if odd { find(text) } else { Vec::new() }
}

fn kind(c: char, next: Option<char>) -> Option<HiddenKind> {
    match c {
        '\n' | '\t' => None,
        '\r' => (next != Some('\n')).then_some(HiddenKind::Control),
        _ if c.is_control() => Some(HiddenKind::Control),
        _ if c.is_ascii() => None,
        _ if is_tag(c) => Some(HiddenKind::Tag),
        _ if is_bidi(c) => Some(HiddenKind::Bidi),
        _ if is_zero_width(c) => Some(HiddenKind::ZeroWidth),
        _ => None,
    }
}

fn find(text: &str) -> Vec<HiddenText> {
    let mut out: Vec<HiddenText> = Vec::new();
    let mut word = Scripts::default();
    let mut escape = Escape::None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let next = chars.peek().map(|(_, n)| *n);
        if escape.continues(c) {
            if let Some(last) = out.last_mut() {
                last.span = Span::new(last.span.start as usize, end);
            }
            continue;
        }
        let Some(kind) = kind(c, next) else {
            word.read(at, end, c, &mut out);
            continue;
        };
        escape = Escape::start(c);
        match out.last_mut() {
            Some(last) if last.kind == kind && last.span.end as usize == at => {
                last.span = Span::new(last.span.start as usize, end);
            }
            _ => out.push(HiddenText { span: Span::new(at, end), kind }),
        }
    }
    word.close(&mut out);
    out.sort_by_key(|h| (h.span.start, h.span.end));
    out
}

/// The position inside an ANSI escape sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Begun,
    Csi,
    Osc,
}

impl Escape {
    fn start(c: char) -> Escape {
        match c {
            '\u{1B}' => Escape::Begun,
            '\u{9B}' => Escape::Csi,
            _ => Escape::None,
        }
    }

    /// Whether `c` is still part of the sequence.
    fn continues(&mut self, c: char) -> bool {
        let (state, part) = match (*self, c) {
            (Escape::Begun, '[') => (Escape::Csi, true),
            (Escape::Begun, '(' | ')') | (Escape::Csi, '0'..='?' | ' '..='/') => (*self, true),
            (Escape::Osc, '\u{7}') => (Escape::None, true),
            (Escape::Begun, ']') | (Escape::Osc, '\u{20}'..) => (Escape::Osc, true),
            (Escape::Begun | Escape::Csi, _) => (Escape::None, matches!(c, '@'..='~')),
            _ => (Escape::None, false),
        };
        *self = state;
        part
    }
}

/// The scripts found in the current word.
#[derive(Default)]
struct Scripts {
    start: usize,
    end: usize,
    latin: bool,
    other: bool,
}

impl Scripts {
    fn read(&mut self, at: usize, end: usize, c: char, out: &mut Vec<HiddenText>) {
        if !c.is_alphabetic() {
            self.close(out);
            return;
        }
        if !self.latin && !self.other {
            self.start = at;
        }
        self.end = end;
        if is_cyrillic_or_greek(c) {
            self.other |= deceives(c);
        } else {
            self.latin |= matches!(c, 'a'..='z' | 'A'..='Z' | '\u{C0}'..='\u{24F}');
        }
    }

    fn close(&mut self, out: &mut Vec<HiddenText>) {
        if self.latin && self.other {
            let span = Span::new(self.start, self.end);
            out.push(HiddenText { span, kind: HiddenKind::MixedScript });
        }
        *self = Scripts::default();
    }
}

/// Always true for Cyrillic; for Greek only for letters that look like Latin ones (`μs` and `λx`
/// are legitimate).
fn deceives(c: char) -> bool {
    let greek = matches!(c, '\u{370}'..='\u{3FF}');
    !greek || "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρικ".contains(c)
}
