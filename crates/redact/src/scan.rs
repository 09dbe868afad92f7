//! The one pass over a text that finds what must be hidden.

use super::names::{self, Value};
use super::tables::{self, Check, Part, Shape};
use super::{Hidden, Hit, apply, cards, leaves, marker_length, options};

/// Between the words of a list that was joined: no value goes across it.
pub(super) const BETWEEN: u8 = 0x1F;

/// How far from a key's id the key itself is looked for.
const NEAR: usize = 160;

/// How long the secret half of a pair of keys is.
const PAIRED: usize = 40;
const PAIRED_AND_SLASH: usize = PAIRED + 1;

/// The longest title of a block, and its five hyphens.
const TITLE: usize = 69;

/// How often a text in which something was found is looked at again.
const AGAIN: usize = 8;

/// Everything to hide in a text. What stood beside a secret may be one of its own once that is
/// hidden, so a text with a secret is searched again until nothing more is found.
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

/// The place in the source of a place in the result; inside a marker, the border of its secret.
fn source(hidden: &[Hidden], at: usize, is_end: bool) -> usize {
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
    let mut scan = Scan {
        text,
        bytes: text.as_bytes(),
        hits: Vec::new(),
        ends: [(0, 0); 32],
        program: None,
        block_end: Sought::default(),
        block_break: Sought::default(),
    };
    scan.run();
    scan.hits
}

pub(super) struct Scan<'t> {
    pub text: &'t str,
    pub bytes: &'t [u8],
    pub hits: Vec<Hit>,
    /// The last run of each class: from where to where. A run is walked once, however many
    /// shapes begin in it, so that the pass stays linear.
    ends: [(usize, usize); 32],
    /// Flags of the program whose command this is.
    pub program: Option<&'static [usize]>,
    /// The next end of a block, and the next sign that no key holds.
    block_end: Sought,
    block_break: Sought,
}

/// Where something stands next, from a place on: sought once, however often it is asked for.
#[derive(Default)]
struct Sought {
    from: usize,
    looked: bool,
    found: Option<usize>,
}

impl Sought {
    fn next(&mut self, at: usize, seek: impl FnOnce() -> Option<usize>) -> Option<usize> {
        let known = self.looked && self.from <= at && self.found.is_none_or(|f| f >= at);
        if !known {
            (self.from, self.looked, self.found) = (at, true, seek());
        }
        self.found
    }
}

impl Scan<'_> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(&byte) = self.bytes.get(at) {
            at = self.step(at, byte).unwrap_or(at + 1);
        }
    }

    /// Looks at one byte; where to go on if something was found.
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
                Some(self.hide(Value { start: at, end, kind: tables::card_kind(), shape: false }))
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

    /// Notes a hit; where to go on.
    pub fn hide(&mut self, value: Value) -> usize {
        let Value { start, end, kind, shape } = value;
        if shape {
            for leaf in leaves::of(self.text, start, end) {
                self.hide(Value { start: leaf.start, end: leaf.end, kind, shape: false });
            }
            // Its names are searched like any text.
            return start + 1;
        }
        let text = self.text.get(start..end).unwrap_or_default();
        if end > start && marker_length(text) != text.len() {
            self.hits.push(Hit { start, end, kind });
            if kind == tables::PAIR_OF {
                self.pair(start, end);
            }
        }
        end
    }

    /// Whether nothing that belongs to the same word stands before this place. The last letter of
    /// an escape (`\n`, `%3D`, `\u003d`) belongs to what is escaped.
    fn is_edge(&self, at: usize) -> bool {
        let before = |n: usize| at.checked_sub(n).and_then(|i| self.bytes.get(i)).copied();
        let Some(last) = before(1) else { return true };
        if !last.is_ascii_alphanumeric() {
            return true;
        }
        matches!((before(2), last), (Some(b'\\'), b'n' | b't' | b'r'))
            || before(3) == Some(b'%')
            || (before(6) == Some(b'\\') && before(5) == Some(b'u'))
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

    fn fit(&mut self, shape: &Shape, start: usize) -> Option<Value> {
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
            Check::NotPort => !is_port(hidden) && !names::is_reference(hidden),
        };
        fits.then_some(Value { start: from, end, kind: shape.kind, shape: false })
    }

    fn literal(&self, at: usize, text: &str, any_case: bool) -> Option<usize> {
        let end = at + text.len();
        let found = self.bytes.get(at..end)?;
        let same =
            found == text.as_bytes() || any_case && found.eq_ignore_ascii_case(text.as_bytes());
        same.then_some(end)
    }

    /// How many bytes from here are in a class; none where there are more than `max`. A run that
    /// may itself hold the byte behind it ends before the last such byte.
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

    /// A private key between its two lines, or as much of one as there is.
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
        // Only what a key is made of: other text between the two lines stays visible.
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
        (!blank).then(|| self.hide(Value { start: body, end, kind: block.kind, shape: false }))
    }

    /// The secret half of a pair of keys: forty characters of base64 near the id of the key.
    fn pair(&mut self, start: usize, end: usize) {
        self.paired(start.saturating_sub(NEAR), start, true);
        self.paired(end, end + NEAR, false);
    }

    fn paired(&mut self, from: usize, to: usize, is_before: bool) {
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
        let mut at = from;
        while at < to.min(self.bytes.len()) {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let most = if is_before { to - at } else { NEAR };
            let length = rest.iter().take(most).take_while(|b| is_part(b)).count();
            let mut run = rest.get(..length).unwrap_or_default();
            let mut place = at;
            // `id/key`: the slash between them is no part of the key.
            if let (PAIRED_AND_SLASH, [b'/', tail @ ..]) = (length, run) {
                (run, place) = (tail, at + 1);
            } else if let (PAIRED_AND_SLASH, [head @ .., b'/']) = (length, run) {
                run = head;
            }
            let mixed = run.iter().any(u8::is_ascii_lowercase)
                && run.iter().any(u8::is_ascii_uppercase)
                && run.iter().any(u8::is_ascii_digit);
            if run.len() == PAIRED && mixed {
                // Found twice does no harm: what overlaps is joined.
                let end = place + PAIRED;
                self.hits.push(Hit { start: place, end, kind: tables::PAIR_KIND });
            }
            at += length.max(1);
        }
    }
}

/// `8080/path`: what stands behind the colon is a port, not a password.
fn is_port(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    (1..=5).contains(&digits) && matches!(text.get(digits), Some(b'/' | b'?' | b'#'))
}
