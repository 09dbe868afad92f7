//! Arguments of a command.

use std::borrow::Cow;

use super::ast::PsExpr;
use super::parser::{Parser, PowerShellProblem};

impl<'t> Parser<'t> {
    /// One argument, or several joined by commas.
    pub(super) fn argument_list(&mut self) -> PsExpr<'t> {
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
            1 => list.pop().unwrap_or(PsExpr::List(Vec::new())),
            _ => PsExpr::List(list),
        }
    }

    /// One argument as commands take them: a word, a string, a variable, or pieces of these.
    pub(super) fn argument(&mut self) -> PsExpr<'t> {
        let mut pieces: Vec<PsExpr<'t>> = Vec::new();
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
                    self.fail(PowerShellProblem::Unexpected, self.at);
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
            let alone =
                matches!(piece, PsExpr::Statements(_) | PsExpr::Block(_) | PsExpr::Table(_));
            pieces.push(piece);
            if alone && matches!(byte, b'(' | b'{' | b'@') {
                break;
            }
        }
        match pieces.len() {
            0 => PsExpr::Text { text: Cow::Borrowed(""), bare: false },
            1 => pieces.pop().unwrap_or(PsExpr::List(Vec::new())),
            _ => PsExpr::Pieces { pieces, bare },
        }
    }

    /// Unquoted characters up to the next quote, variable or end of the word.
    fn bare_piece(&mut self) -> Option<PsExpr<'t>> {
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
                            self.fail(PowerShellProblem::Unclosed, start);
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
        (self.at > start).then_some(PsExpr::Text { text, bare: true })
    }
}
