//! The state of the search for secrets: the text, the hits so far, and what was already read.

use super::marker::marker_length;
use super::redacted::Hit;
use super::{leaves, tables};

/// Separates the words of a joined list: no value extends across it.
pub(super) const BETWEEN: u8 = 0x1F;

/// How far from a key's id the key itself is searched for.
const NEAR: usize = 160;

/// The length of the secret half of a key pair.
const PAIRED: usize = 40;
const PAIRED_AND_SLASH: usize = PAIRED + 1;

/// A range of the text that is secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct SecretRange {
    pub start: usize,
    pub end: usize,
    pub kind: &'static str,
    /// An object or list: its values are secret, its structure is not.
    pub shape: bool,
}

pub(super) struct Scan<'t> {
    pub text: &'t str,
    pub bytes: &'t [u8],
    pub hits: Vec<Hit>,
    /// The last run of each class: from where to where. A run is walked once, however many shapes
    /// begin in it, so that the pass stays linear.
    pub ends: [(usize, usize); 32],
    /// The flags of the current program.
    pub program: Option<&'static [usize]>,
    /// The next end of a block, and the next symbol that no key contains.
    pub block_end: NextOccurrence,
    pub block_break: NextOccurrence,
}

/// The next occurrence from an offset on: searched once, however often it is needed.
#[derive(Default)]
pub(super) struct NextOccurrence {
    from: usize,
    looked: bool,
    found: Option<usize>,
}

impl NextOccurrence {
    pub fn next(&mut self, at: usize, seek: impl FnOnce() -> Option<usize>) -> Option<usize> {
        let known = self.looked && self.from <= at && self.found.is_none_or(|f| f >= at);
        if !known {
            (self.from, self.looked, self.found) = (at, true, seek());
        }
        self.found
    }
}

impl<'t> Scan<'t> {
    pub fn new(text: &'t str) -> Scan<'t> {
        Scan {
            text,
            bytes: text.as_bytes(),
            hits: Vec::new(),
            ends: [(0, 0); 32],
            program: None,
            block_end: NextOccurrence::default(),
            block_break: NextOccurrence::default(),
        }
    }

    /// Records a hit. Returns where to continue.
    pub fn hide(&mut self, value: SecretRange) -> usize {
        let SecretRange { start, end, kind, shape } = value;
        if shape {
            for leaf in leaves::of(self.text, start, end) {
                self.hide(SecretRange { start: leaf.start, end: leaf.end, kind, shape: false });
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

    /// Whether nothing before this offset belongs to the same word. The last letter of an escape
    /// (`\n`, `%3D`, `\u003d`) belongs to the escaped character.
    pub fn is_edge(&self, at: usize) -> bool {
        let before = |n: usize| at.checked_sub(n).and_then(|i| self.bytes.get(i)).copied();
        let Some(last) = before(1) else { return true };
        if !last.is_ascii_alphanumeric() {
            return true;
        }
        matches!((before(2), last), (Some(b'\\'), b'n' | b't' | b'r'))
            || before(3) == Some(b'%')
            || (before(6) == Some(b'\\') && before(5) == Some(b'u'))
    }

    /// The secret half of a key pair: forty characters of base64 near the id of the key.
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
            // `id/key`: the slash between them is not part of the key.
            if let (PAIRED_AND_SLASH, [b'/', tail @ ..]) = (length, run) {
                (run, place) = (tail, at + 1);
            } else if let (PAIRED_AND_SLASH, [head @ .., b'/']) = (length, run) {
                run = head;
            }
            let mixed = run.iter().any(u8::is_ascii_lowercase)
                && run.iter().any(u8::is_ascii_uppercase)
                && run.iter().any(u8::is_ascii_digit);
            if run.len() == PAIRED && mixed {
                // Duplicate hits are harmless: overlapping hits are merged.
                let end = place + PAIRED;
                self.hits.push(Hit { start: place, end, kind: tables::PAIR_KIND });
            }
            at += length.max(1);
        }
    }
}

/// `$NAME`, `${NAME}`, `$(…)`, `{{ name }}`, `%NAME%`: a reference to a secret, not the secret.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
    match value {
        [b'$', b'(' | b'{', ..] | [b'{', b'{', ..] | [b'`', ..] => true,
        [b'$', rest @ ..] => {
            let word = |b: &u8| b.is_ascii_alphabetic() || *b == b'_';
            let shouted = rest.iter().all(|b| !b.is_ascii_lowercase() && part(b));
            rest.iter().all(word) || shouted
        }
        [b'%', inner @ .., b'%'] | [b'{', inner @ .., b'}'] => {
            !inner.is_empty() && inner.iter().all(part)
        }
        _ => false,
    }
}
