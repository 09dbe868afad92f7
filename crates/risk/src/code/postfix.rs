//! What may follow a value: calls, attributes, subscripts.

use crate::code::Language;
use crate::code::reader::Reader;
use crate::code::token::{K, KEYWORD, Tok};
use crate::code::value::Value;

impl<'a> Reader<'a, '_> {
    pub(super) fn postfix(&mut self, mut value: Value<'a>) -> Value<'a> {
        while let Some(tok) = self.tok(0) {
            let spaced = self.spaced(&tok);
            match tok.k {
                K::Newline if self.is(1, K::Dot) && self.is(2, K::Ident) => self.pos += 1,
                K::Dot if self.is(1, K::Ident) => {
                    let name = self.word(1);
                    let end = self.tok(1).map_or(tok.end, |t| t.end);
                    self.pos += 2;
                    value = self.attribute(value, name, end);
                }
                K::Dot if self.opens(1, b'(') || self.opens(1, b'[') => self.pos += 1,
                K::Open if tok.mark == b'(' && !(spaced && self.ruby() && value.node == 0) => {
                    self.pos += 1;
                    let over = self.over.replace(value.clone());
                    let (args, _) = self.list(b'(');
                    if !self.ruby() {
                        self.over = over;
                    }
                    let end = self.toks.get(self.pos.wrapping_sub(1)).map_or(tok.end, |t| t.end);
                    let at = (value.at.0, end);
                    value = self.call(&value, &args, at);
                }
                K::Open if tok.mark == b'[' && !(spaced && self.bare(&value)) => {
                    self.pos += 1;
                    value = self.subscript(&value);
                }
                K::Open if tok.mark == b'{' && self.lang == Language::Perl && !spaced => {
                    self.pos += 1;
                    value = self.subscript(&value);
                }
                K::Str | K::Ident | K::Num | K::Open if self.bare(&value) && tok.mark != b'{' => {
                    if self.stops(&tok) {
                        break;
                    }
                    let (args, _) = self.list(0);
                    let end = self.toks.get(self.pos.wrapping_sub(1)).map_or(tok.end, |t| t.end);
                    let at = (value.at.0, end);
                    value = self.call(&value, &args, at);
                }
                _ => {
                    if self.ruby() && (self.word(0) == "do" || self.opens(0, b'{')) {
                        self.over = Some(value.clone());
                    }
                    break;
                }
            }
        }
        value
    }

    fn spaced(&self, tok: &Tok) -> bool {
        self.toks.get(self.pos.wrapping_sub(1)).is_some_and(|before| before.end < tok.start)
    }

    /// Whether this is a known function of a language that calls without brackets.
    fn bare(&self, value: &Value<'a>) -> bool {
        !matches!(self.lang, Language::Python | Language::JavaScript)
            && value.node != 0
            && value.text.is_none()
            && self
                .table
                .node(value.node)
                .is_some_and(|n| !n.calls.is_empty() || n.op != crate::code::table::Op::None)
    }

    pub(super) fn stops(&self, tok: &Tok) -> bool {
        tok.k == K::Ident
            && tok.mark == KEYWORD
            && matches!(
                self.slice(tok),
                "if" | "unless"
                    | "while"
                    | "until"
                    | "do"
                    | "and"
                    | "or"
                    | "then"
                    | "end"
                    | "for"
                    | "in"
                    | "else"
                    | "as"
            )
    }
}
