//! Splits text into folded words, each with its offsets in the source.

use super::fold::{FoldedChar, fold, is_cyrillic_or_greek, is_latin, lookalike};

/// What separates a word from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Exactly one space.
    Space,
    /// One `-`, `.`, `_`, `*`, `/` or `,` and nothing else.
    Sign,
    /// Nothing (adjacent symbols, or a script without spaces).
    Touch,
    /// Anything wider.
    Wide,
}

/// One folded word, or the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedWord {
    /// Folded text; empty for the end of a sentence.
    pub text: String,
    /// First byte in the original.
    pub start: usize,
    /// One past the last byte in the original.
    pub end: usize,
    /// What separates it from the word before.
    pub glue: Spacing,
    /// Its letters were spelled out one by one.
    pub spelled: bool,
    /// Written with an apostrophe, as in `life's`.
    pub apostrophe: bool,
    /// Has a capital I where a lower-case l would complete the word, as in `kiII`.
    pub capital_i: bool,
}

/// The words of a text in order, with an empty word at the end of each sentence.
pub fn split_words(text: &str) -> Vec<FoldedWord> {
    let mut reader = Reader::default();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, n)| *n);
        reader.read(at, at + c.len_utf8(), c, next);
    }
    reader.flush();
    respell(unmask(reader.out))
}

/// French and Italian words that are shortened before a vowel; the apostrophe ends the word.
const ELIDED: [&str; 12] = ["l", "d", "j", "n", "m", "t", "s", "c", "qu", "un", "dell", "all"];

#[derive(Default)]
struct Reader {
    out: Vec<FoldedWord>,
    word: String,
    start: usize,
    end: usize,
    apostrophe: bool,
    capital_i: bool,
    gap: Gap,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Gap {
    #[default]
    Touch,
    Space,
    Sign,
    Wide,
}

impl Reader {
    fn read(&mut self, at: usize, end: usize, c: char, next: Option<char>) {
        match fold(c) {
            FoldedChar::Nothing => {}
            FoldedChar::Letter(l) => {
                if c == 'I' && self.word.ends_with(|p: char| p.is_ascii_lowercase()) {
                    self.capital_i = true;
                }
                self.push(at, end, l);
            }
            FoldedChar::Pair(a, b) => {
                self.push(at, end, a);
                self.push(at, end, b);
            }
            FoldedChar::Alone(l) => {
                self.flush();
                self.push(at, end, l);
                self.flush();
            }
            FoldedChar::Space => self.separate(Gap::Space),
            FoldedChar::Other(o) | FoldedChar::Stop(o) if self.inside(o, next) => {
                if !matches!(o, '\'' | '’' | 'ʼ' | '`' | '´') {
                    self.push(at, end, o);
                } else if ELIDED.contains(&self.word.as_str()) {
                    self.separate(Gap::Wide);
                } else {
                    self.apostrophe = true;
                }
            }
            FoldedChar::Stop('.') if self.tight(next) => self.separate(Gap::Sign),
            FoldedChar::Stop(_) => self.stop(at, end),
            FoldedChar::Other('-' | '_' | '*' | '/' | ',' | '‐' | '‑' | '·' | '•' | '~') => {
                self.separate(Gap::Sign);
            }
            FoldedChar::Other(_) => self.separate(Gap::Wide),
        }
    }

    /// Whether a symbol belongs to the word: an apostrophe, or a symbol used as a letter.
    fn inside(&self, c: char, next: Option<char>) -> bool {
        let followed = next.is_some_and(|n| matches!(fold(n), FoldedChar::Letter(_)));
        let masked = next.is_some_and(|n| matches!(n, '*' | '#' | '!' | '$'));
        match c {
            '\'' | '’' | 'ʼ' | '`' | '´' => followed && !self.word.is_empty(),
            '!' | '|' | '+' | '*' | '#' => {
                (followed || masked) && self.word.ends_with(char::is_alphabetic)
            }
            '$' | '@' => followed,
            _ => false,
        }
    }

    fn tight(&self, next: Option<char>) -> bool {
        !self.word.is_empty() && next.is_some_and(|n| matches!(fold(n), FoldedChar::Letter(_)))
    }

    fn push(&mut self, at: usize, end: usize, c: char) {
        if self.word.is_empty() {
            self.start = at;
        }
        // A word longer than any rule is cut, because no rule can match more than its beginning.
        if self.word.len() < 96 {
            self.word.push(c);
        }
        self.end = end;
    }

    fn separate(&mut self, gap: Gap) {
        let first = !self.word.is_empty();
        self.flush();
        self.gap = match (first || self.gap == Gap::Touch, gap) {
            (true, g) => g,
            (false, _) => Gap::Wide,
        };
    }

    fn flush(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let glue = match self.gap {
            Gap::Touch => Spacing::Touch,
            Gap::Space => Spacing::Space,
            Gap::Sign => Spacing::Sign,
            Gap::Wide => Spacing::Wide,
        };
        self.out.push(FoldedWord {
            text: std::mem::take(&mut self.word),
            start: self.start,
            end: self.end,
            glue,
            spelled: false,
            apostrophe: std::mem::take(&mut self.apostrophe),
            capital_i: std::mem::take(&mut self.capital_i),
        });
        self.gap = Gap::Touch;
    }

    fn stop(&mut self, start: usize, end: usize) {
        self.flush();
        if self.out.last().is_some_and(|w| !w.text.is_empty()) {
            self.out.push(FoldedWord {
                text: String::new(),
                start,
                end,
                glue: Spacing::Wide,
                spelled: false,
                apostrophe: false,
                capital_i: false,
            });
        }
        self.gap = Gap::Wide;
    }
}

/// Replaces look-alike letters with Latin ones in words that mix scripts, and then in all words
/// that could be Latin.
fn unmask(mut list: Vec<FoldedWord>) -> Vec<FoldedWord> {
    let mixed =
        |w: &FoldedWord| w.text.chars().any(is_latin) && w.text.chars().any(is_cyrillic_or_greek);
    if list.iter().all(|w| w.text.is_ascii()) || !list.iter().any(mixed) {
        return list;
    }
    for word in &mut list {
        let whole = word.text.chars().all(|c| lookalike(c).is_some());
        if whole || mixed(word) {
            word.text = word.text.chars().map(|c| lookalike(c).unwrap_or(c)).collect();
        }
    }
    list
}

fn single(word: &FoldedWord) -> bool {
    let mut chars = word.text.chars();
    let one = chars.next().is_some_and(|c| c.is_alphanumeric() && !super::fold::is_unspaced(c));
    one && chars.next().is_none()
}

/// Joins letters that were written one by one: `k i l l`, `s-u-i-c-i-d-e`.
fn respell(list: Vec<FoldedWord>) -> Vec<FoldedWord> {
    let mut longest = 0;
    let mut run = 0;
    for word in &list {
        let joins = matches!(word.glue, Spacing::Space | Spacing::Sign);
        run = if !single(word) {
            0
        } else if joins && run > 0 {
            run + 1
        } else {
            1
        };
        longest = longest.max(run);
    }
    if longest < 3 {
        return list;
    }
    let mut out: Vec<FoldedWord> = Vec::with_capacity(list.len());
    for word in list {
        let joins = matches!(word.glue, Spacing::Space | Spacing::Sign);
        match out.last_mut() {
            Some(last) if joins && single(&word) && (last.spelled || single(last)) => {
                last.text.push_str(&word.text);
                last.end = word.end;
                last.spelled = true;
            }
            _ => out.push(word),
        }
    }
    out
}
