//! Lists, tables and arguments.

use crate::code::Language;
use crate::code::expr::NESTED;
use crate::code::reader::Reader;
use crate::code::token::{K, Tok};
use crate::code::value::{Shape, Value};

impl<'a> Reader<'a, '_> {
    /// Entries up to the closing bracket (`0`: the end of the line); whether commas stood there.
    pub(super) fn list(&mut self, open: u8) -> (Vec<Value<'a>>, bool) {
        let (mut items, mut commas) = (Vec::new(), false);
        while let Some(tok) = self.tok(0) {
            match tok.k {
                K::Close => {
                    if open != 0 {
                        self.pos += 1;
                    }
                    break;
                }
                K::Newline | K::Semi if open == 0 => break,
                K::Comma => {
                    commas = true;
                    self.pos += 1;
                }
                K::Newline | K::Semi | K::Assign | K::Aug | K::Colon => self.pos += 1,
                _ if open == 0 && self.stops(&tok) => break,
                _ => {
                    let before = self.pos;
                    let key = self.key(&tok, true);
                    let member = std::mem::replace(&mut self.member, key == "env");
                    let mut value = self.expr();
                    self.member = member;
                    if value.at == (0, 0) {
                        value.at = (tok.start, tok.end);
                    }
                    value.key = key;
                    items.push(value);
                    self.pos = self.pos.max(before + 1);
                }
            }
        }
        (items, commas)
    }

    /// The key before `=`, `:` or `=>`; steps over it.
    fn key(&mut self, tok: &Tok, assign: bool) -> &'a str {
        let hash = !matches!(self.lang, Language::Python | Language::JavaScript);
        let text = match tok.k {
            K::Str => self.src.get(tok.inner as usize..tok.inner_end as usize).unwrap_or_default(),
            K::Ident => self.slice(tok),
            _ => return "",
        };
        let mark = match self.tok(1) {
            Some(t) if t.k == K::Assign && assign && tok.k == K::Ident => t,
            Some(t) if t.k == K::Colon => t,
            Some(t) if t.k == K::Arrow && hash => t,
            _ => return "",
        };
        self.pos += 2;
        if mark.k == K::Assign && mark.end - mark.start == 2 {
            // `name := value` binds as well.
            let value = self.expr();
            self.pos = self.pos.max(1);
            self.bind_more(text, value);
            return "";
        }
        text
    }

    /// A dictionary, a block or a function body.
    pub(super) fn braces(&mut self) -> Value<'a> {
        self.pos += 1;
        if !self.within(NESTED, usize::from(self.nest) + 1) {
            return Value::default();
        }
        self.nest += 1;
        self.block += 1;
        let depth = self.block;
        let mut items = Vec::new();
        while let Some(tok) = self.tok(0) {
            if tok.k == K::Close && self.block <= depth {
                self.pos += 1;
                break;
            }
            let before = self.pos;
            let key = self.key(&tok, self.lang == Language::Other);
            if key.is_empty() && self.lang != Language::Python {
                self.statement();
            } else {
                let mut value = self.expr();
                value.key = key;
                items.push(value);
            }
            self.pos = self.pos.max(before + 1);
        }
        self.block = depth.saturating_sub(1);
        self.nest -= 1;
        Value::of_items(items, Shape::List)
    }
}
