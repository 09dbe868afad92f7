//! The single pass over a text that finds secrets.

use super::marker::marker_length;
use super::redacted::{Hit, Redaction, apply};
use super::scan::{Scan, SecretRange, is_reference};
use super::tables::{self, Check, Part, Shape};
use super::{cards, names, options};

/// The longest title of a block, and its five hyphens.
const TITLE: usize = 69;

/// How often a text with a secret is searched again.
const AGAIN: usize = 8;

/// Everything to hide in a text. Hiding one secret can reveal another next to it, so a text with a
/// secret is searched again until nothing more is found.
pub(super) fn hits(text: &str) -> Vec<Hit> {
    let mut hits = pass(text);
    for _ in 0..AGAIN {
        if hits.is_empty() {
            break;
        }
        let clean = apply(text, hits.clone());
        let more = pass(&clean.text);
        if more.is_empty() {
            break;
        }
        hits.extend(more.into_iter().map(|hit| Hit {
            start: source(&clean.hidden, hit.start, false),
            end: source(&clean.hidden, hit.end, true),
            ..hit
        }));
    }
    hits
}

/// Maps an offset of the result to the source; inside a marker, to the boundary of its secret.
fn source(hidden: &[Redaction], at: usize, is_end: bool) -> usize {
    let (mut old, mut new) = (0, 0);
    for one in hidden {
        let (start, end) = (one.span.start as usize, one.span.end as usize);
        if at <= start {
            break;
        }
        let from = old + (start - new);
        let to = from + one.bytes as usize;
        if at < end {
            return if is_end { to } else { from };
        }
        (old, new) = (to, end);
    }
    old + at.saturating_sub(new)
}

fn pass(text: &str) -> Vec<Hit> {
    let mut scan = Scan::new(text);
    scan.run();
    scan.hits
}

impl Scan<'_> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(&byte) = self.bytes.get(at) {
            at = self.step(at, byte).unwrap_or(at + 1);
        }
    }

    /// Examines one byte. Returns where to continue if something was found.
    fn step(&mut self, at: usize, byte: u8) -> Option<usize> {
        if tables::starts(byte)
            && let Some(end) = self.shape(at, byte)
        {
            return Some(end);
        }
        match byte {
            b'=' | b':' => names::value_of(self, at).map(|value| self.hide(value)),
            b'-' => self.block(at).or_else(|| options::read(self, at)),
            b'0'..=b'9' if self.is_edge(at) => {
                options::word(self, at);
                let end = cards::number(self.bytes, at)?;
                Some(self.hide(SecretRange {
                    start: at,
                    end,
                    kind: tables::card_kind(),
                    shape: false,
                }))
            }
            b';' | b'|' | b'&' | b'\n' => {
                options::next_command(self, at);
                None
            }
            b'a'..=b'z' => {
                options::word(self, at);
                None
            }
            0xE2 => Some(at + marker_length(self.text.get(at..)?)).filter(|&end| end > at),
            _ => None,
        }
    }

    fn shape(&mut self, at: usize, byte: u8) -> Option<usize> {
        let edge = self.is_edge(at);
        for shape in tables::starting(byte) {
            if (shape.glued || edge || !byte.is_ascii_alphanumeric())
                && let Some(value) = self.fit(shape, at)
            {
                self.hide(value);
                return Some(value.end);
            }
        }
        None
    }

    fn fit(&mut self, shape: &Shape, start: usize) -> Option<SecretRange> {
        let (mut at, mut from, mut to) = (start, start, None);
        for (index, part) in shape.parts.iter().enumerate() {
            if index == shape.from {
                from = at;
            }
            if index == shape.to {
                to = Some(at);
            }
            match part {
                Part::Text(text) => at = self.literal(at, text, shape.any_case)?,
                Part::Run { class, min, max } => {
                    let next = match shape.parts.get(index + 1) {
                        Some(Part::Text(text)) => text.bytes().next(),
                        _ => None,
                    };
                    let length = self.length(at, *class, *max, next)?;
                    if length < *min {
                        return None;
                    }
                    at += length;
                }
            }
        }
        if self.bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) && to.is_none() {
            return None;
        }
        let end = to.unwrap_or(at);
        let hidden = self.bytes.get(from..end)?;
        let fits = match shape.check {
            Check::None => true,
            Check::Mixed => {
                let letters = hidden.iter().any(u8::is_ascii_alphabetic);
                letters && hidden.iter().any(u8::is_ascii_digit)
            }
            Check::NotPort => !is_port(hidden) && !is_reference(hidden),
        };
        fits.then_some(SecretRange { start: from, end, kind: shape.kind, shape: false })
    }

    fn literal(&self, at: usize, text: &str, any_case: bool) -> Option<usize> {
        let end = at + text.len();
        let found = self.bytes.get(at..end)?;
        let same =
            found == text.as_bytes() || any_case && found.eq_ignore_ascii_case(text.as_bytes());
        same.then_some(end)
    }

    /// How many bytes from here are in a class; none if there are more than `max`. A run whose
    /// class includes the byte after it ends before the last such byte.
    fn length(&mut self, at: usize, class: u8, max: usize, next: Option<u8>) -> Option<usize> {
        if let Some(next) = next.filter(|&next| tables::is_in(next, class)) {
            let window = self.bytes.get(at..)?.iter().take(max + 1);
            let run = window.take_while(|&&byte| tables::is_in(byte, class)).count();
            return self.bytes.get(at..at + run)?.iter().rposition(|&byte| byte == next);
        }
        let (start, end) = self.ends.get(usize::from(class)).copied().unwrap_or_default();
        let end = if (start..end).contains(&at) {
            end
        } else {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let end = at + rest.iter().take_while(|&&byte| tables::is_in(byte, class)).count();
            if let Some(known) = self.ends.get_mut(usize::from(class)) {
                *known = (at, end);
            }
            end
        };
        Some(end - at).filter(|&length| length <= max)
    }

    /// A private key between its two lines, or as much of it as there is.
    fn block(&mut self, at: usize) -> Option<usize> {
        let block = tables::block();
        let rest = self.text.get(at..)?.strip_prefix(block.begin)?;
        let window = rest.as_bytes().get(..rest.len().min(TITLE))?;
        let title = rest.get(..window.windows(5).position(|five| five == b"-----")?)?;
        if !title.contains(block.needs) {
            return None;
        }
        let body = at + block.begin.len() + title.len() + 5;
        let tail = self.text.get(body..)?;
        let end = self.block_end.next(body, || tail.find(block.end).map(|found| body + found));
        // Only characters of a key: other text between the two lines stays visible.
        let is_key = |b: u8| b.is_ascii_alphanumeric() || b" \t\r\n+/=\\:,-\"'".contains(&b);
        let broken = self
            .block_break
            .next(body, || tail.bytes().position(|b| !is_key(b)).map(|found| body + found));
        let length = match end {
            Some(end) if broken.is_none_or(|broken| broken >= end) => end - body,
            _ => tail.bytes().take_while(|&b| b != b'-' && is_key(b)).count(),
        };
        let end = body + length;
        let blank = tail.get(..length)?.trim().is_empty();
        (!blank)
            .then(|| self.hide(SecretRange { start: body, end, kind: block.kind, shape: false }))
    }
}

/// `8080/path`: the text after the colon is a port, not a password.
fn is_port(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    (1..=5).contains(&digits) && matches!(text.get(digits), Some(b'/' | b'?' | b'#'))
}
