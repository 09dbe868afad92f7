//! Splits a text into words with their classes.

use super::hash::{SEED, step};
use super::tables::{self, classify};
use countersign_text::fold::leet;
use countersign_text::words::{FoldedWord, split_words};

/// One word as the automaton sees it.
#[derive(Debug, Clone, Copy)]
pub struct TextToken {
    /// First byte in the original.
    pub start: usize,
    /// One past the last byte in the original.
    pub end: usize,
    /// Which sentence it is in.
    pub sentence: u32,
    /// Whether it is the end of a sentence rather than a word.
    pub edge: bool,
    /// The range of its classes; repeated words share them.
    pub classes: (u32, u32),
    hints: u16,
}

/// One match: a rule and the tokens it covers (last one included).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Number of the rule.
    pub rule: u16,
    /// First token.
    pub first: u32,
    /// Last token.
    pub last: u32,
}

/// The words of a text with their classes.
pub struct Reading {
    /// A sentence edge, the words, a sentence edge.
    pub tokens: Vec<TextToken>,
    classes: Vec<u16>,
    /// How many words hint at each language.
    pub hints: [u32; 15],
}

/// Splits a text into tokens.
pub fn read(text: &str) -> Reading {
    let list = split_words(text);
    let mut met = Met::new(list.len());
    let mut reading = Reading {
        tokens: Vec::with_capacity(list.len() + 2),
        classes: Vec::with_capacity(list.len()),
        hints: [0; 15],
    };
    reading.edge(0);
    for (at, word) in list.iter().enumerate() {
        if word.text.is_empty() {
            reading.edge(word.end);
        } else if !reading.split_word(&list, at) {
            reading.word(word, at, &list, &mut met);
        }
    }
    if reading.tokens.last().is_some_and(|t| !t.edge) {
        reading.edge(text.len());
    }
    reading
}

impl Reading {
    fn edge(&mut self, at: usize) {
        let sentence = self.tokens.last().map_or(0, |t| t.sentence + 1);
        let token =
            TextToken { start: at, end: at, sentence, edge: true, classes: (0, 0), hints: 0 };
        self.tokens.push(token);
    }

    /// The classes of all distinct words, in order.
    pub fn all_classes(&self) -> &[u16] {
        &self.classes
    }

    fn word(&mut self, word: &FoldedWord, at: usize, list: &[FoldedWord], met: &mut Met) {
        if word.spelled && self.spelled(word) {
            return;
        }
        let slot = if word.spelled { None } else { met.slot(word, list) };
        if let Some(Slot::Known(token)) = slot
            && let Some(same) = self.tokens.get(token as usize).copied()
        {
            self.add(word.start, word.end, same.classes, same.hints);
            return;
        }
        let from = self.classes.len();
        let hints = forms(word, &mut self.classes);
        if let Some(Slot::Free(slot)) = slot {
            met.fill(slot, at, self.tokens.len());
        }
        self.push(word.start, word.end, from, hints);
    }

    fn push(&mut self, start: usize, end: usize, from: usize, hints: u16) {
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        self.add(start, end, (clip(from), clip(self.classes.len())), hints);
    }

    fn add(&mut self, start: usize, end: usize, classes: (u32, u32), hints: u16) {
        let mut rest = hints;
        while let Some(count) = self.hints.get_mut(rest.trailing_zeros() as usize) {
            *count += 1;
            rest &= rest - 1;
        }
        let sentence = self.tokens.last().map_or(0, |t| t.sentence);
        self.tokens.push(TextToken { start, end, sentence, edge: false, classes, hints });
    }

    /// Spelled-out letters without word gaps: split into the longest known words.
    fn spelled(&mut self, word: &FoldedWord) -> bool {
        let text: String = word.text.chars().map(|c| leet(c, 'i')).collect();
        if tables::knows(&text) || word.text.len() > 60 {
            return false;
        }
        let Some(parts) = cut(&text) else { return false };
        for part in parts {
            let from = self.classes.len();
            let hints = classify(part, &mut self.classes);
            self.push(word.start, word.end, from, hints);
        }
        true
    }

    /// A word split by a symbol, as in `sui-cide`: joined if only the whole is known.
    fn split_word(&mut self, list: &[FoldedWord], at: usize) -> bool {
        use countersign_text::words::Spacing;
        let (Some(word), Some(before)) = (list.get(at), list.get(at.wrapping_sub(1))) else {
            return false;
        };
        if word.glue != Spacing::Sign || tables::knows(&word.text) || tables::knows(&before.text) {
            return false;
        }
        let whole = format!("{}{}", before.text, word.text);
        let from = self.classes.len();
        let hints = classify(&whole, &mut self.classes);
        if self.classes.len() == from || whole.len() < 6 {
            self.classes.truncate(from);
            return false;
        }
        self.push(before.start, word.end, from, hints);
        true
    }
}

/// The distinct words so far, by hash: the word in the list, and its token.
struct Met {
    slots: Vec<(u32, u32)>,
}

/// The result of a lookup.
enum Slot {
    /// Known, with this token.
    Known(u32),
    /// Not known; its slot.
    Free(usize),
}

impl Met {
    fn new(words: usize) -> Met {
        Met { slots: vec![(u32::MAX, 0); (words * 2).next_power_of_two().clamp(16, 1 << 20)] }
    }

    fn slot(&self, word: &FoldedWord, list: &[FoldedWord]) -> Option<Slot> {
        let mask = self.slots.len() - 1;
        // The spelling decides what a word may imitate.
        let same = |w: &FoldedWord| {
            w.text == word.text
                && (w.apostrophe, w.capital_i) == (word.apostrophe, word.capital_i)
                && !w.spelled
        };
        let start = word.text.bytes().fold(SEED, step) as usize;
        // A few probes: a full table only forgets.
        for probe in 0..8 {
            let at = start.wrapping_add(probe) & mask;
            let (known, token) = *self.slots.get(at)?;
            if known == u32::MAX {
                return Some(Slot::Free(at));
            }
            if list.get(known as usize).is_some_and(same) {
                return Some(Slot::Known(token));
            }
        }
        None
    }

    fn fill(&mut self, slot: usize, word: usize, token: usize) {
        if let (Some(place), Ok(word), Ok(token)) =
            (self.slots.get_mut(slot), u32::try_from(word), u32::try_from(token))
        {
            *place = (word, token);
        }
    }
}

/// Splits letters without gaps into as few known words as possible.
fn cut(text: &str) -> Option<Vec<&str>> {
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    // For each start: how many words the rest needs, and where the first one ends.
    let mut best: Vec<(usize, usize, usize)> = vec![(text.len(), 0, text.len())];
    for start in text.char_indices().rev().map(|(at, _)| at) {
        let mut found: Option<(usize, usize)> = None;
        for end in ends.iter().copied().filter(|end| *end > start) {
            let Some((_, count, _)) = best.iter().find(|b| b.0 == end) else { continue };
            let fewer = found.is_none_or(|(least, _)| *count < least);
            if fewer && text.get(start..end).is_some_and(tables::knows) {
                found = Some((count + 1, end));
            }
        }
        best.extend(found.map(|(count, end)| (start, count, end)));
    }
    let mut parts = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (_, _, end) = best.iter().find(|b| b.0 == at)?;
        parts.push(text.get(at..*end)?);
        at = *end;
    }
    Some(parts)
}

/// Adds the classes of a word as written, or else of the word it imitates.
fn forms(word: &FoldedWord, into: &mut Vec<u16>) -> u16 {
    let from = into.len();
    let hints = classify(&word.text, into);
    if into.len() > from || hints != 0 {
        return hints;
    }
    let text = &word.text;
    let mut attempts: Vec<String> = Vec::new();
    let letters = text.chars().any(char::is_alphabetic);
    if word.apostrophe {
        attempts.extend(text.strip_suffix('s').map(str::to_owned));
    }
    if word.capital_i {
        attempts.push(text.replacen("iii", "ill", 1));
        attempts.push(text.replace("ii", "ll"));
        attempts.push(text.replacen('i', "l", 1));
    }
    if letters && text.chars().any(|c| !c.is_alphabetic()) {
        attempts.push(text.chars().map(|c| leet(c, 'i')).collect());
        attempts.push(text.chars().map(|c| leet(c, 'l')).collect());
        attempts.push(text.chars().filter(|c| !matches!(c, '*' | '#' | '!' | '+')).collect());
    }
    let bytes = text.as_bytes();
    if bytes.windows(3).any(|w| matches!(w, [a, b, c] if a == b && b == c)) || !text.is_ascii() {
        attempts.extend([2, 1].into_iter().filter_map(|most| squeeze(text, most)));
    }
    if let Some(rest) = text.strip_prefix(['و', 'ف', 'ب', 'ل']) {
        attempts.push(rest.to_owned());
        attempts.extend(rest.strip_prefix("ال").map(str::to_owned));
    } else if let Some(rest) = text.strip_prefix("ال") {
        attempts.push(rest.to_owned());
    }
    for attempt in attempts {
        let hints = classify(&attempt, into);
        if into.len() > from {
            return hints;
        }
    }
    0
}

/// The word with runs of three or more letters shortened to `most`, if it has any.
fn squeeze(text: &str, most: usize) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let (mut last, mut run, mut cut) = ('\0', 0, false);
    for c in text.chars() {
        run = if c == last { run + 1 } else { 1 };
        last = c;
        cut |= run >= 3;
        if run <= most {
            out.push(c);
        }
    }
    cut.then_some(out)
}
