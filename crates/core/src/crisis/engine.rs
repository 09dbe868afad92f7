//! Runs the automaton over the words of a text: bounded work per word, whatever the text.

use super::tables::{self, classify};
use crate::text::fold::leet;
use crate::text::words::{Word, words};

/// The class of the end of a sentence.
const EDGE: u16 = 0;
/// Any word.
const ANY: u16 = 1;
/// Any word or end.
const ANY_ACROSS: u16 = 2;
/// A state that consumes nothing.
pub const SPLIT: u16 = u16::MAX;
/// A match.
const ACCEPT: u16 = u16::MAX - 1;

/// One word as the automaton sees it.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// First byte in the original.
    pub start: usize,
    /// One past the last byte in the original.
    pub end: usize,
    /// Which sentence it is in.
    pub sentence: u32,
    edge: bool,
    from: usize,
    to: usize,
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
    /// An edge, the words, an edge.
    pub tokens: Vec<Token>,
    classes: Vec<u16>,
    keyed: bool,
    /// How often each language was hinted at.
    pub hints: [u32; 15],
}

/// Reads a text into tokens.
pub fn read(text: &str) -> Reading {
    let list = words(text);
    let mut reading = Reading {
        tokens: Vec::with_capacity(list.len() + 2),
        classes: Vec::with_capacity(list.len()),
        keyed: false,
        hints: [0; 15],
    };
    reading.edge(0);
    for (at, word) in list.iter().enumerate() {
        if word.text.is_empty() {
            reading.edge(word.end);
        } else if !reading.split_word(&list, at) {
            reading.word(word);
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
        let (from, to) = (self.classes.len(), self.classes.len());
        self.tokens.push(Token { start: at, end: at, sentence, edge: true, from, to });
    }

    /// Whether some sign has all its keys: spares most texts the big tables.
    fn promising(&self) -> bool {
        let mut present = self.classes.clone();
        present.sort_unstable();
        present.dedup();
        let has = |key: &u16| present.binary_search(key).is_ok();
        let starts = present.iter().chain(&[EDGE]).flat_map(|class| tables::first(*class));
        starts.into_iter().any(|(_, keys, [_, sign])| *sign && keys.iter().all(has))
    }

    fn word(&mut self, word: &Word) {
        if word.spelled && self.spelled(word) {
            return;
        }
        let from = self.classes.len();
        let hints = forms(word, &mut self.classes);
        self.push(word.start, word.end, from, hints);
    }

    fn push(&mut self, start: usize, end: usize, from: usize, hints: u16) {
        for class in self.classes.get(from..).unwrap_or_default() {
            self.keyed |= tables::is_key(*class);
        }
        for (bit, count) in self.hints.iter_mut().enumerate() {
            *count += u32::from(hints >> bit & 1);
        }
        let sentence = self.tokens.last().map_or(0, |t| t.sentence);
        let to = self.classes.len();
        self.tokens.push(Token { start, end, sentence, edge: false, from, to });
    }

    /// Letters spelled out without word gaps: cut into the longest words we know.
    fn spelled(&mut self, word: &Word) -> bool {
        let text: String = word.text.chars().map(|c| leet(c, 'i')).collect();
        if tables::knows(&text) || word.text.len() > 60 {
            return false;
        }
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let known = ends.filter_map(|end| rest.get(..end)).find(|head| tables::knows(head));
            let Some(head) = known else { return false };
            parts.push(head);
            rest = rest.get(head.len()..).unwrap_or_default();
        }
        for part in parts {
            let from = self.classes.len();
            let hints = classify(part, &mut self.classes);
            self.push(word.start, word.end, from, hints);
        }
        true
    }

    /// A word cut in two by a sign, as in `sui-cide`: taken as one when only the whole is known.
    fn split_word(&mut self, list: &[Word], at: usize) -> bool {
        use crate::text::words::Glue;
        let (Some(word), Some(before)) = (list.get(at), list.get(at.wrapping_sub(1))) else {
            return false;
        };
        if word.glue != Glue::Sign || tables::knows(&word.text) || tables::knows(&before.text) {
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

/// Adds the classes of a word as written, or else of the word it imitates.
fn forms(word: &Word, into: &mut Vec<u16>) -> u16 {
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

/// The word with runs of three and more letters cut to `most`, if it has any.
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

/// Every match in a text. Work per word is bounded by the number of states.
pub fn run(reading: &Reading) -> Vec<Hit> {
    if !reading.keyed || !reading.promising() {
        return Vec::new();
    }
    let mut machine = Machine {
        marks: vec![0; tables::states()],
        seen: vec![0; tables::classes()],
        now: Vec::new(),
        hits: Vec::new(),
        at: 0,
    };
    let mut wide = Near { counts: vec![0; tables::classes()], end: 0 };
    let mut sentence = Near { counts: vec![0; tables::classes()], end: 0 };
    let mut before = Vec::new();
    for (at, token) in reading.tokens.iter().enumerate() {
        wide.slide(reading, at, |_| true);
        sentence.slide(reading, at, |t| t.sentence == token.sentence);
        let classes = reading.classes.get(token.from..token.to).unwrap_or_default();
        machine.look(classes);
        std::mem::swap(&mut before, &mut machine.now);
        machine.now.clear();
        for (state, from) in &before {
            if machine.fits(token, tables::class(*state)) {
                machine.advance(*state, *from);
            }
        }
        let from = machine.at;
        let edge = if token.edge { &[EDGE][..] } else { &[] };
        for class in classes.iter().chain(edge) {
            for (state, keys, [crosses, _]) in tables::first(*class) {
                let near = if *crosses { &wide } else { &sentence };
                if keys.iter().all(|key| near.has(*key)) {
                    machine.advance(*state, from);
                }
            }
        }
        machine.at += 1;
    }
    machine.hits.sort_unstable();
    machine.hits.dedup_by(|b, a| {
        let same = a.rule == b.rule && b.first <= a.last;
        if same {
            a.last = a.last.max(b.last);
        }
        same
    });
    machine.hits
}

/// No pattern spans more words than this.
const REACH: usize = 80;

/// How often each class occurs in the words ahead, as far as a pattern reaches.
struct Near {
    counts: Vec<u32>,
    end: usize,
}

impl Near {
    /// Moves the window so that it begins at token `at`.
    fn slide(&mut self, reading: &Reading, at: usize, reaches: impl Fn(&Token) -> bool) {
        let classes = |t: &Token| reading.classes.get(t.from..t.to).unwrap_or_default();
        while self.end < at + REACH
            && let Some(token) = reading.tokens.get(self.end)
            && (reaches(token) || self.end <= at)
        {
            for class in classes(token) {
                if let Some(count) = self.counts.get_mut(usize::from(*class)) {
                    *count += 1;
                }
            }
            self.end += 1;
        }
        if let Some(past) = at.checked_sub(1).and_then(|p| reading.tokens.get(p)) {
            for class in classes(past) {
                if let Some(count) = self.counts.get_mut(usize::from(*class)) {
                    *count = count.saturating_sub(1);
                }
            }
        }
    }

    fn has(&self, class: u16) -> bool {
        self.counts.get(usize::from(class)).is_some_and(|count| *count > 0)
    }
}

struct Machine {
    /// For each state, one more than the token at which it was last entered.
    marks: Vec<u32>,
    /// For each class, one more than the token at which it was last seen.
    seen: Vec<u32>,
    now: Vec<(u16, u32)>,
    hits: Vec<Hit>,
    at: u32,
}

impl Machine {
    /// Notes the classes of the current token.
    fn look(&mut self, classes: &[u16]) {
        for class in classes {
            if let Some(seen) = self.seen.get_mut(usize::from(*class)) {
                *seen = self.at + 1;
            }
        }
    }

    /// Whether the current token is of a class.
    fn fits(&self, token: &Token, class: u16) -> bool {
        match class {
            ANY => !token.edge,
            ANY_ACROSS => true,
            EDGE => token.edge,
            _ => self.seen.get(usize::from(class)).is_some_and(|seen| *seen == self.at + 1),
        }
    }

    /// Enters every state after `state`, for a match that began at token `from`.
    fn advance(&mut self, state: u16, from: u32) {
        let mut stack: Vec<u16> = Vec::new();
        for next in tables::next(state) {
            self.enter(*next, from, &mut stack);
        }
        while let Some(state) = stack.pop() {
            for next in tables::next(state) {
                self.enter(*next, from, &mut stack);
            }
        }
    }

    fn enter(&mut self, state: u16, from: u32, stack: &mut Vec<u16>) {
        let stamp = self.at + 1;
        let Some(mark) = self.marks.get_mut(usize::from(state)) else { return };
        if *mark == stamp {
            return;
        }
        *mark = stamp;
        match tables::class(state) {
            SPLIT => stack.push(state),
            ACCEPT => {
                let rule = tables::next(state).first().copied().unwrap_or(0);
                self.hits.push(Hit { rule, first: from, last: self.at });
            }
            _ => self.now.push((state, from)),
        }
    }
}
