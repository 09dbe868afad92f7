//! Elements of a pipeline: commands with their words and redirections, or expressions.

use std::borrow::Cow;

use super::ast::{Element, ElementKind, Expr, Redirection, Word, WordKind};
use super::parser::{Parser, Problem};

/// A redirection: into a file, or into another stream.
enum Redirect<'t> {
    File(Redirection<'t>),
    Stream,
}

impl<'t> Redirect<'t> {
    fn file(self) -> Option<Redirection<'t>> {
        match self {
            Redirect::File(redirection) => Some(redirection),
            Redirect::Stream => None,
        }
    }
}

impl<'t> Parser<'t> {
    /// One element of a pipeline.
    pub(super) fn element(&mut self) -> Element<'t> {
        let start = self.at;
        if !self.enter() {
            self.leave();
            let kind = ElementKind::Command(Vec::new());
            return Element { kind, redirections: Vec::new(), start, end: start };
        }
        let mut redirections = Vec::new();
        let kind = if self.begins_expression() {
            ElementKind::Expression(self.expression(false))
        } else {
            ElementKind::Command(self.command(&mut redirections))
        };
        self.leave();
        Element { kind, redirections, start, end: self.at }
    }

    /// Whether what stands here is an expression and not the name of a command.
    fn begins_expression(&self) -> bool {
        match self.peek() {
            Some(b'$' | b'\'' | b'"' | b'(' | b'{' | b'!' | b',') => true,
            // `[` alone is a test program where there is one, never a type.
            Some(b'[') => !matches!(self.peek_at(1), None | Some(b' ' | b'\t')),
            Some(b'@') => matches!(self.peek_at(1), Some(b'(' | b'{' | b'\'' | b'"')),
            Some(b'+' | b'-') => match self.peek_at(1) {
                Some(b'0'..=b'9' | b'$' | b'(' | b'+' | b'-') => true,
                _ => self.unary_word().is_some(),
            },
            Some(b'0'..=b'9') => self.is_number(),
            _ => false,
        }
    }

    /// Whether a whole number stands here: `7z` is a command, `7` and `7kb` are not.
    fn is_number(&self) -> bool {
        let rest = self.rest().as_bytes();
        let end = rest
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))
            .unwrap_or(rest.len());
        let word = self.rest().get(..end).unwrap_or_default().to_ascii_lowercase();
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let suffix = word.get(digits.len()..).unwrap_or_default();
        word.starts_with("0x")
            || (digits.bytes().all(|b| b.is_ascii_digit())
                && matches!(suffix, "" | "kb" | "mb" | "gb" | "tb" | "pb" | "l" | "d" | "u" | "ul"))
    }

    /// The words of a command up to the end of its element.
    fn command(&mut self, redirections: &mut Vec<Redirection<'t>>) -> Vec<Word<'t>> {
        let mut words = Vec::new();
        let start = self.at;
        // `& name` and `. name` run what follows; `&{ … }` too.
        if self.peek() == Some(b'&') && self.peek_at(1) != Some(b'&') {
            self.at += 1;
            self.blanks(false);
            words.push(marker("&", start));
        } else if self.peek() == Some(b'.')
            && matches!(self.peek_at(1), Some(b' ' | b'\t' | b'{' | b'(' | b'$' | b'\'' | b'"'))
        {
            self.at += 1;
            self.blanks(false);
            words.push(marker(".", start));
        }
        loop {
            self.blanks(false);
            let before = self.at;
            if self.ends_command() {
                break;
            }
            if let Some(redirection) = self.redirection() {
                redirections.extend(redirection.file());
                continue;
            }
            if !self.enter() {
                self.leave();
                break;
            }
            let word = self.word(words.is_empty());
            self.leave();
            let attached = matches!(&word.kind, WordKind::Parameter { attached: true, .. });
            words.push(word);
            if attached {
                self.blanks(false);
            }
            if self.at == before {
                self.fail(Problem::Unexpected, self.at);
                self.bump();
            }
        }
        words
    }

    fn ends_command(&self) -> bool {
        match self.peek() {
            None | Some(b';' | b'|' | b'\n' | b')' | b'}' | b'&') => true,
            Some(b'\r') => self.peek_at(1) == Some(b'\n'),
            _ => false,
        }
    }

    /// Redirections behind an expression.
    pub(super) fn redirections(&mut self, element: &mut Element<'t>) {
        if matches!(element.kind, ElementKind::Command(_)) {
            return;
        }
        self.blanks(false);
        while let Some(redirection) = self.redirection() {
            element.redirections.extend(redirection.file());
            element.end = self.at;
            self.blanks(false);
        }
    }

    /// `> file`, `2>> file`, `*> file`; `Redirect::Stream` for `2>&1`, which names no file.
    fn redirection(&mut self) -> Option<Redirect<'t>> {
        let start = self.at;
        let stream = match (self.peek()?, self.peek_at(1)) {
            (b'>', _) => b'1',
            (stream @ (b'1'..=b'6' | b'*'), Some(b'>')) => {
                self.at += 1;
                stream
            }
            _ => return None,
        };
        self.at += 1;
        let append = self.eat(b'>');
        if self.peek() == Some(b'&') && matches!(self.peek_at(1), Some(b'1' | b'2')) {
            self.at += 2;
            return Some(Redirect::Stream);
        }
        self.blanks(false);
        if self.ends_command() {
            self.fail(Problem::Unexpected, self.at);
            return Some(Redirect::Stream);
        }
        let target = self.argument();
        let output = matches!(stream, b'1' | b'*');
        Some(Redirect::File(Redirection { target, append, output, start, end: self.at }))
    }

    fn word(&mut self, first: bool) -> Word<'t> {
        let start = self.at;
        if !first && self.rest().starts_with("--%") {
            let end = self.rest().find(['\n', '\r']).unwrap_or(self.rest().len());
            let raw = self.slice(start + 3, start + end);
            let raw = raw.split('|').next().unwrap_or(raw);
            self.at = start + 3 + raw.len();
            return Word { kind: WordKind::Verbatim(raw), start, end: self.at };
        }
        if self.peek() == Some(b'@')
            && self.peek_at(1).is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        {
            self.at += 1;
            let name = Cow::Borrowed(self.name());
            return Word { kind: WordKind::Splat(name), start, end: self.at };
        }
        if !first && let Some(kind) = self.parameter() {
            return Word { kind, start, end: self.at };
        }
        let value = self.argument_list();
        Word { kind: WordKind::Value(value), start, end: self.at }
    }

    /// `-Name`, `-Name:`; not `--name`, not `-5`, not `-x$y`.
    fn parameter(&mut self) -> Option<WordKind<'t>> {
        let rest = self.rest();
        let mut chars = rest.char_indices();
        if chars.next().map(|(_, c)| c) != Some('-') {
            return None;
        }
        let first = chars.next().map(|(_, c)| c)?;
        if !(first.is_alphabetic() || first == '_' || first == '?') {
            return None;
        }
        let ends = |c: char| c.is_whitespace() || ":=\"'$(){};,|&`<>@".contains(c);
        let end =
            rest.char_indices().skip(1).find(|(_, c)| ends(*c)).map_or(rest.len(), |(i, _)| i);
        let name = rest.get(1..end)?;
        let next = rest.as_bytes().get(end).copied();
        match next {
            Some(b':') => {
                self.at += end + 1;
                Some(WordKind::Parameter { name: Cow::Borrowed(name), attached: true })
            }
            // `-DFLAG=1`, `-o"x"`: a word of its own for a program.
            Some(b'=' | b'"' | b'\'' | b'$' | b'`') => None,
            _ => {
                self.at += end;
                Some(WordKind::Parameter { name: Cow::Borrowed(name), attached: false })
            }
        }
    }

    /// One argument, or several joined by commas.
    fn argument_list(&mut self) -> Expr<'t> {
        let first = self.argument();
        let mut list = vec![first];
        loop {
            let keep = self.at;
            self.blanks(false);
            if self.peek() != Some(b',') {
                self.at = keep;
                break;
            }
            self.at += 1;
            self.blanks(true);
            if self.ends_command() {
                break;
            }
            let before = self.at;
            list.push(self.argument());
            if self.at == before {
                break;
            }
        }
        match list.len() {
            1 => list.pop().unwrap_or(Expr::List(Vec::new())),
            _ => Expr::List(list),
        }
    }

    /// One argument as commands take them: a word, a string, a variable, or pieces of these.
    pub(super) fn argument(&mut self) -> Expr<'t> {
        let mut pieces: Vec<Expr<'t>> = Vec::new();
        let mut bare = false;
        while let Some(byte) = self.peek() {
            let piece = match byte {
                b'\'' => self.single_quoted(),
                b'"' => self.double_quoted(),
                b'$' => self.dollar(pieces.is_empty()),
                b'@' if matches!(self.peek_at(1), Some(b'(' | b'{' | b'\'' | b'"'))
                    && pieces.is_empty() =>
                {
                    self.primary_with_access()
                }
                b'(' | b'{' if pieces.is_empty() => self.primary_with_access(),
                b'>' | b'<' if pieces.is_empty() => {
                    self.fail(Problem::Unexpected, self.at);
                    self.at += 1;
                    continue;
                }
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b'&' | b'(' | b')' | b'{' | b'}'
                | b',' | b'>' => break,
                _ => {
                    bare = true;
                    let Some(piece) = self.bare_piece() else { break };
                    piece
                }
            };
            let alone = matches!(piece, Expr::Statements(_) | Expr::Block(_) | Expr::Table(_));
            pieces.push(piece);
            if alone && matches!(byte, b'(' | b'{' | b'@') {
                break;
            }
        }
        match pieces.len() {
            0 => Expr::Text { text: Cow::Borrowed(""), bare: false },
            1 => pieces.pop().unwrap_or(Expr::List(Vec::new())),
            _ => Expr::Pieces { pieces, bare },
        }
    }

    /// Unquoted characters up to the next quote, variable or end of the word.
    fn bare_piece(&mut self) -> Option<Expr<'t>> {
        let start = self.at;
        let mut made: Option<String> = None;
        let mut from = start;
        while let Some(c) = self.char() {
            match c {
                '`' => {
                    let text = made.get_or_insert_default();
                    text.push_str(self.text.get(from..self.at).unwrap_or_default());
                    self.at += 1;
                    match self.char() {
                        None => {
                            self.fail(Problem::Unclosed, start);
                            from = self.at;
                            break;
                        }
                        Some('\n' | '\r') => {
                            self.at -= 1;
                            from = self.at;
                            break;
                        }
                        Some(escaped) => {
                            made.get_or_insert_default().push(super::strings::escaped(escaped));
                            self.bump();
                        }
                    }
                    from = self.at;
                }
                '\'' | '"' | '$' | ';' | '|' | '&' | '(' | ')' | '{' | '}' | ',' | '>' => break,
                c if c.is_whitespace() => break,
                _ => self.bump(),
            }
        }
        let tail = self.slice(from, self.at);
        let text = match made {
            Some(mut text) => {
                text.push_str(tail);
                Cow::Owned(text)
            }
            None => Cow::Borrowed(tail),
        };
        (self.at > start).then_some(Expr::Text { text, bare: true })
    }
}

fn marker<'t>(text: &'static str, start: usize) -> Word<'t> {
    let value = Expr::Text { text: Cow::Borrowed(text), bare: true };
    Word { kind: WordKind::Value(value), start, end: start + 1 }
}
