//! SQL text to statements of words: strings, comments and dollar quotes are passed over.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum T {
    /// A bare word or number.
    Word,
    /// A quoted name.
    Name,
    /// A string.
    Text,
    /// One byte of punctuation.
    Mark(u8),
}

/// A token with its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tok<'a> {
    pub(super) t: T,
    pub(super) text: &'a str,
    pub(super) start: usize,
    pub(super) depth: u16,
}

/// Tokens of a whole text. Dialects differ on whether a backslash escapes a quote.
///
/// `;` ends a statement, and so does the line of a client command.
pub(super) fn tokens(text: &str, backslash: bool) -> Vec<Tok<'_>> {
    let mut lexer = Lexer {
        text,
        at: 0,
        depth: 0,
        out: Vec::with_capacity(text.len() / 5 + 4),
        meta: false,
        backslash,
    };
    while lexer.at < text.len() {
        lexer.step();
    }
    lexer.out
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: u16,
    out: Vec<Tok<'a>>,
    meta: bool,
    backslash: bool,
}

impl Lexer<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn find(&self, from: usize, what: &str) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        rest.find(what).map_or(self.text.len(), |n| from + n)
    }

    fn push(&mut self, t: T, end: usize) {
        let end = end.min(self.text.len());
        let text = self.text.get(self.at..end).unwrap_or_default();
        self.out.push(Tok { t, text, start: self.at, depth: self.depth });
        self.at = end.max(self.at + 1);
    }

    fn line_start(&self) -> bool {
        let before = self.text.as_bytes().get(..self.at).unwrap_or_default();
        let gap = before.iter().rev().find(|b| !matches!(b, b' ' | b'\t'));
        gap.is_none_or(|&b| b == b'\n')
    }

    fn fresh(&self) -> bool {
        self.out.last().is_none_or(|t| t.t == T::Mark(b';'))
    }

    fn step(&mut self) {
        let (b, n) = (self.byte(self.at), self.byte(self.at + 1));
        match (b, n) {
            (b'\n', _) if self.meta => {
                self.meta = false;
                self.push(T::Mark(b';'), self.at + 1);
            }
            // Where dialects differ, what may be a statement is not taken for a comment.
            (b'-', b'-') if self.byte(self.at + 2) <= b' ' || self.line_start() => {
                self.at = self.find(self.at, "\n");
            }
            (b'#', _) if self.line_start() => self.at = self.find(self.at, "\n"),
            // MySQL runs the text inside `/*! … */`.
            (b'/', b'*') if self.byte(self.at + 2) == b'!' => {
                self.at += 3;
                while self.byte(self.at).is_ascii_digit() {
                    self.at += 1;
                }
            }
            (b'/', b'*') => self.at = self.find(self.at + 2, "*/") + 2,
            (b'*', b'/') => self.at += 2,
            (b'\'', _) => self.quoted(T::Text),
            (b'"' | b'`', _) => self.quoted(T::Name),
            (b'$', n) if n == b'$' || n.is_ascii_alphabetic() || n == b'_' => self.dollar(),
            (b'.' | b'\\', _) if self.fresh() && n > b' ' => {
                self.meta = true;
                self.word();
            }
            (b'(', _) => {
                self.push(T::Mark(b), self.at + 1);
                self.depth = self.depth.saturating_add(1);
            }
            (b')', _) => {
                self.depth = self.depth.saturating_sub(1);
                self.push(T::Mark(b), self.at + 1);
            }
            (b';', _) => {
                self.depth = 0;
                self.push(T::Mark(b), self.at + 1);
            }
            _ if b <= b' ' => self.at += 1,
            _ if wordy(b) || (b == b'@' && wordy(n)) => self.word(),
            _ => self.push(T::Mark(b), self.at + 1),
        }
    }

    fn word(&mut self) {
        let mut end = self.at + 1;
        while wordy(self.byte(end)) || matches!(self.byte(end), b'.' | b'!') {
            end += 1;
        }
        self.push(T::Word, end);
    }

    fn quoted(&mut self, t: T) {
        let quote = self.byte(self.at);
        let mut end = self.at + 1;
        while end < self.text.len() {
            let b = self.byte(end);
            let escapes = b == b'\\' && quote == b'\'' && self.backslash;
            if escapes || (b == quote && self.byte(end + 1) == quote) {
                end += 1;
            } else if b == quote {
                break;
            }
            end += 1;
        }
        self.push(t, end + 1);
    }

    fn dollar(&mut self) {
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let len = rest.bytes().take(64).take_while(|&b| wordy(b)).count();
        if self.byte(self.at + 1 + len) != b'$' {
            return self.push(T::Mark(b'$'), self.at + 1);
        }
        let tag = self.text.get(self.at..self.at + len + 2).unwrap_or_default();
        let close = self.find(self.at + tag.len(), tag);
        self.push(T::Text, close + tag.len());
    }
}

fn wordy(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}

/// Whether a statement begins with a phrase: `*` is any number of words, `?` one name.
pub(super) fn begins(statement: &[Tok<'_>], phrase: &[&str]) -> bool {
    let Some((word, more)) = phrase.split_first() else { return true };
    match *word {
        "*" => {
            // The next words of the phrase are searched once, from left to right.
            let Some((next, _)) = more.split_first() else { return true };
            let is = |t: &Tok<'_>| t.t == T::Word && t.text.eq_ignore_ascii_case(next);
            let mut rest = statement;
            for _ in 0..64 {
                let Some(at) = rest.iter().position(is) else { return false };
                rest = rest.get(at..).unwrap_or_default();
                if begins(rest, more) {
                    return true;
                }
                rest = rest.get(1..).unwrap_or_default();
            }
            // A part that is not read any further counts as the statement it may be.
            rest.iter().any(is)
        }
        "?" => match statement.split_first() {
            Some((first, rest)) if matches!(first.t, T::Word | T::Name) => {
                let open = rest.first().is_some_and(|t| t.t == T::Mark(b'(') && t.depth == 0);
                let skip = if open {
                    rest.iter()
                        .position(|t| t.t == T::Mark(b')') && t.depth == 0)
                        .map_or(0, |n| n + 1)
                } else {
                    0
                };
                begins(rest.get(skip..).unwrap_or_default(), more)
            }
            _ => false,
        },
        word => match statement.split_first() {
            Some((first, rest)) if first.t == T::Word && first.text.eq_ignore_ascii_case(word) => {
                begins(rest, more)
            }
            _ => false,
        },
    }
}
