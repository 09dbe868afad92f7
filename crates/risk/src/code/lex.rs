//! A tolerant tokenizer for all the languages: every byte is looked at a bounded number of times.

use crate::code::Language;
use crate::code::token::{HOLES, K, KEYWORD, RAW, Tok, is_keyword};

/// The cursor of the tokenizer.
pub(super) struct Lexer<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) lang: Language,
    /// Hole-aware scanning failed once: do not try again.
    pub(super) plain: bool,
    /// A string that holds code was read as plain text.
    pub(super) unread: bool,
    pub(super) toks: Vec<Tok>,
}

/// Tokens of `text[from..to]`, and whether code in strings was left unread.
pub(super) fn lex(text: &str, from: usize, to: usize, lang: Language) -> (Vec<Tok>, bool) {
    let mut lexer = Lexer {
        bytes: text.as_bytes(),
        at: from,
        end: to.min(text.len()),
        lang,
        plain: false,
        unread: false,
        toks: Vec::with_capacity((to.saturating_sub(from)) / 3 + 4),
    };
    if from == 0 {
        lexer.manual();
    }
    while lexer.at < lexer.end {
        lexer.step();
    }
    // Perl has only names in its strings.
    let holes = !matches!(lang, Language::Perl | Language::Other);
    (lexer.toks, lexer.unread && holes)
}

#[expect(clippy::cast_possible_truncation, reason = "input is bounded far below 4 GiB")]
fn narrow(n: usize) -> u32 {
    n as u32
}

impl Lexer<'_> {
    pub(super) fn peek(&self, ahead: usize) -> u8 {
        let at = self.at + ahead;
        if at >= self.end { 0 } else { self.bytes.get(at).copied().unwrap_or(0) }
    }

    pub(super) fn byte(&self, at: usize) -> u8 {
        if at >= self.end { 0 } else { self.bytes.get(at).copied().unwrap_or(0) }
    }

    pub(super) fn push(&mut self, k: K, mark: u8, len: usize) {
        let end = (self.at + len).min(self.end);
        self.toks.push(Tok {
            k,
            mark,
            start: narrow(self.at),
            end: narrow(end),
            inner: 0,
            inner_end: 0,
        });
        self.at = end.max(self.at + 1);
    }

    pub(super) fn string(&mut self, flags: u8, inner: usize, inner_end: usize, end: usize) {
        let inner_end = inner_end.clamp(inner, self.end.max(inner));
        self.toks.push(Tok {
            k: K::Str,
            mark: flags,
            start: narrow(self.at),
            end: narrow(end.min(self.end)),
            inner: narrow(inner),
            inner_end: narrow(inner_end),
        });
        self.at = end.max(self.at + 1);
    }

    /// Whether a value just ended, so that `/` divides and `%` is a remainder.
    pub(super) fn after_value(&self) -> bool {
        self.toks.last().is_some_and(|t| match t.k {
            K::Ident => !self.word_before_regex(t),
            K::Str | K::Num | K::Close => true,
            _ => false,
        })
    }

    /// Whether a bare name and a space stand before: `print %hash`.
    fn after_name(&self) -> bool {
        self.toks.last().is_some_and(|t| {
            let bare = self.bytes.get(t.start as usize).is_some_and(u8::is_ascii_alphabetic);
            t.k == K::Ident && bare && (t.end as usize) < self.at
        })
    }

    fn word_before_regex(&self, tok: &Tok) -> bool {
        let word = self.bytes.get(tok.start as usize..tok.end as usize).unwrap_or_default();
        matches!(word, b"return" | b"typeof" | b"case" | b"in" | b"of" | b"and" | b"or" | b"not")
    }

    fn step(&mut self) {
        if self.comment() {
            return;
        }
        let b = self.peek(0);
        match b {
            b'\n' => self.newline(),
            b' ' | b'\t' | b'\r' | 0x0c => self.at += 1,
            b'\\' if matches!(self.peek(1), b'\n' | b'\r') => self.at += 2,
            b'"' | b'\'' | b'`' => self.quoted(self.at, 0),
            b'0'..=b'9' => self.number(),
            _ if self.sigil(b) || is_word(b) => self.word(),
            b'(' | b'[' | b'{' if !self.long_bracket() => self.push(K::Open, b, 1),
            b')' | b']' | b'}' => self.push(K::Close, b, 1),
            b',' => self.push(K::Comma, b, 1),
            b';' => self.push(K::Semi, b, 1),
            b'(' | b'[' | b'{' => {}
            b'%' if self.lang == Language::Ruby && !self.after_value() => self.percent(),
            b'/' if !self.after_value() && self.lang != Language::Python => self.regex(),
            _ => self.operator(b),
        }
    }

    fn newline(&mut self) {
        let rest = self.bytes.get(self.at + 1..self.end).unwrap_or_default();
        let indent = rest.iter().take_while(|&&b| b == b' ' || b == b'\t').count();
        self.push(K::Newline, 0, 1);
        if let Some(last) = self.toks.last_mut() {
            last.inner = narrow(indent);
        }
        self.manual();
    }

    fn sigil(&self, b: u8) -> bool {
        let next = self.peek(1);
        let word = is_word(next) && !next.is_ascii_digit();
        match self.lang {
            Language::JavaScript => b == b'$' || (b == b'#' && word),
            Language::Perl => {
                word && (b == b'$'
                    || b == b'@'
                    || (b == b'%' && (!self.after_value() || self.after_name())))
            }
            Language::Ruby => word && (b == b'$' || b == b'@'),
            Language::Php => word && b == b'$',
            Language::Python | Language::Other => false,
        }
    }

    fn number(&mut self) {
        let mut len = 1;
        while matches!(self.peek(len), b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_')
            || (self.peek(len) == b'.' && self.peek(len + 1).is_ascii_digit())
        {
            len += 1;
        }
        self.push(K::Num, 0, len);
    }

    fn word(&mut self) {
        let mut len = 1;
        while is_word(self.peek(len)) || (self.peek(len) == b'$' && self.js()) {
            len += 1;
        }
        let word = self.bytes.get(self.at..self.at + len).unwrap_or_default();
        let next = self.peek(len);
        if matches!(next, b'"' | b'\'')
            && self.lang == Language::Python
            && let Some(flags) = prefix(word)
        {
            self.quoted(self.at + len, flags);
            return;
        }
        if self.lang == Language::Perl && self.perl_quote(len) {
            return;
        }
        // `rm?` and `delete!` are names in Ruby.
        if self.lang == Language::Ruby && matches!(next, b'?' | b'!') && self.peek(len + 1) != b'='
        {
            len += 1;
        }
        let word = self.bytes.get(self.at..self.at + len).unwrap_or_default();
        let mark = if word.len() <= 10 && is_keyword(word) { KEYWORD } else { 0 };
        self.push(K::Ident, mark, len);
    }

    fn js(&self) -> bool {
        self.lang == Language::JavaScript
    }

    #[expect(clippy::match_same_arms, reason = "in the order in which they must be tried")]
    fn operator(&mut self, b: u8) {
        let (n, nn) = (self.peek(1), self.peek(2));
        let cat_dot = matches!(self.lang, Language::Perl | Language::Php);
        let (k, len) = match (b, n, nn) {
            (b'=', b'>', _) => (K::Arrow, 2),
            (b'=' | b'!' | b'<' | b'>', b'=', b'=') => (K::Other, 3),
            (b'=' | b'!' | b'<' | b'>', b'=', _) | (b'=', b'~', _) => (K::Other, 2),
            (b'<', b'<', _) | (b'>', b'>', _) | (b'&', b'&', _) => (K::Other, 2),
            (b'|' | b'?', b'|' | b'?', b'=') => (K::Assign, 3),
            (b'|', b'|', _) | (b'?', b'?', _) => (K::Other, 2),
            (b':', b'=', _) => (K::Assign, 2),
            (b'=', _, _) => (K::Assign, 1),
            (b':' | b'-', b':' | b'>', _) if (b, n) != (b':', b'>') && (b, n) != (b'-', b':') => {
                (K::Dot, 2)
            }
            (b'?', b'.', _) => (K::Dot, 2),
            (b'.', b'.', b'.') => (K::Other, 3),
            (b'.' | b'+', b'=', _) => (K::Aug, 2),
            (b'.', b'.', _) => (K::Cat, 2),
            (b'.', _, _) if cat_dot => (K::Cat, 1),
            (b'.', _, _) => (K::Dot, 1),
            (b':', _, _) if self.lang == Language::Other && is_word(n) => (K::Dot, 1),
            (b':', _, _) => (K::Colon, 1),
            (b'-' | b'*' | b'/' | b'%' | b'|' | b'&' | b'^', b'=', _) => (K::Other, 2),
            (b'*', b'*', _) => (K::Star, 2),
            (b'*', _, _) => (K::Star, 1),
            (b'+', b'+', _) | (b'-', b'-', _) => (K::Other, 2),
            (b'+', _, _) => (K::Cat, 1),
            (b'%', _, _) => (K::Mod, 1),
            (b'/', _, _) => (K::Div, 1),
            _ => (K::Other, 1),
        };
        self.push(k, b, len);
    }
}

/// Part of a name.
pub(super) fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}

fn prefix(word: &[u8]) -> Option<u8> {
    if word.len() > 2 {
        return None;
    }
    word.iter().try_fold(0, |flags, b| match b.to_ascii_lowercase() {
        b'r' => Some(flags | RAW),
        b'f' | b't' => Some(flags | HOLES),
        b'b' | b'u' => Some(flags),
        _ => None,
    })
}
