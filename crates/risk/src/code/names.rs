//! How names come to be: definitions, assignments, destructuring.

use crate::code::Language;
use crate::code::reader::Reader;
use crate::code::table::id;
use crate::code::token::K;
use crate::code::value::{Shape, Value};
use crate::limit::Limit;

/// Names that one statement may set.
const NAMES: Limit = Limit::new("names set at once", 128);

impl<'a> Reader<'a, '_> {
    /// What a name stands for.
    pub(super) fn lookup(&self, name: &'a str) -> Value<'a> {
        if let Some(value) = self.env.get(&id(name)) {
            return Value { name, ..value.clone() };
        }
        let node = self.table.child(0, name).unwrap_or(0);
        Value { node, name, ..Value::default() }
    }

    /// `def name(a, b=1)`, `function name(a, b)`, `sub name`.
    pub(super) fn definition(&mut self) -> bool {
        let named = !self.word(1).is_empty();
        let name = self.word(1);
        self.pos += if named { 2 } else { 1 };
        while self.is(0, K::Dot) && self.is(1, K::Ident) {
            self.pos += 2;
        }
        let params = if self.opens(0, b'(') { self.parameters() } else { Vec::new() };
        self.function = name;
        if name == "__init__" || name == "constructor" || name == "initialize" {
            let class = self.class;
            self.funcs.entry(id(class)).or_default().params.clone_from(&params);
        }
        self.funcs.entry(id(name)).or_default().params = params;
        true
    }

    pub(super) fn parameters(&mut self) -> Vec<&'a str> {
        self.pos += 1;
        let mut params = Vec::new();
        let mut fresh = true;
        while let Some(tok) = self.tok(0) {
            match (tok.k, self.slice(&tok)) {
                (K::Close, _) => {
                    self.pos += 1;
                    break;
                }
                (K::Ident, name) if fresh => {
                    self.pos += 1;
                    if !matches!(name, "self" | "cls" | "this") {
                        params.push(name);
                    }
                    fresh = false;
                }
                (K::Comma, _) => {
                    fresh = true;
                    self.pos += 1;
                }
                (K::Assign, _) => {
                    self.pos += 1;
                    let value = self.expr();
                    let name = params.last().copied().unwrap_or_default();
                    self.bind_more(name, value);
                }
                (K::Open, _) => drop(self.expr()),
                _ => self.pos += 1,
            }
        }
        params
    }

    /// `{a, b: c} = value` after `const`.
    pub(super) fn destructure(&mut self) {
        self.pos += 1;
        let mut names: Vec<(&'a str, &'a str)> = Vec::new();
        while let Some(tok) = self.tok(0) {
            self.pos += 1;
            match tok.k {
                K::Close => break,
                K::Ident if self.is(0, K::Colon) && self.is(1, K::Ident) => {
                    names.push((self.slice(&tok), self.word(1)));
                    self.pos += 2;
                }
                K::Ident => names.push((self.slice(&tok), self.slice(&tok))),
                _ => {}
            }
        }
        if !self.is(0, K::Assign) {
            return;
        }
        self.pos += 1;
        let value = self.expr();
        for (part, local) in names {
            let mut one = self.part_of(&value, part);
            one.taint |= value.taint;
            self.bind(local, one);
        }
    }

    /// `name = value`, `name += value`, `self.name = value`, `name: type = value`, or others.
    pub(super) fn assignment(&mut self) {
        let name = self.word(0);
        let typed = self.is(1, K::Colon) && self.is(2, K::Ident) && self.is(3, K::Assign);
        if self.is(1, K::Assign) || typed {
            self.pos += if typed { 4 } else { 2 };
            self.params.clear();
            let value = self.expr();
            if !self.params.is_empty() {
                let params = std::mem::take(&mut self.params);
                self.funcs.entry(id(name)).or_default().params = params;
            }
            let value = self.tuple(value);
            self.bind(name, value);
            return;
        }
        if self.is(1, K::Aug) {
            self.pos += 2;
            let value = self.expr();
            let old = self.env.remove(&id(name)).unwrap_or_default();
            let new = self.concat(old.latest(), &value);
            self.env.insert(id(name), if new.text.is_none() { old.or(new) } else { new });
            return;
        }
        if self.is(1, K::Comma) && self.several() {
            return;
        }
        let attribute = self.is(1, K::Dot) && self.is(2, K::Ident) && self.is(3, K::Assign);
        if attribute {
            let field = self.word(2);
            self.pos += 4;
            let value = self.expr();
            let old = self.attrs.remove(&id(field)).unwrap_or_default();
            self.attrs.insert(id(field), old.or(value));
            return;
        }
        let value = self.expr();
        if self.is(0, K::Assign) || self.is(0, K::Aug) {
            self.pos += 1;
            let new = self.expr();
            self.assigned(&value, &new);
        }
    }

    /// `a, b = value`.
    fn several(&mut self) -> bool {
        let mut names = vec![self.word(0)];
        let mut at = 1;
        while self.is(at, K::Comma) && self.is(at + 1, K::Ident) {
            if !self.within(NAMES, names.len() + 1) {
                break;
            }
            names.push(self.word(at + 1));
            at += 2;
        }
        if !self.is(at, K::Assign) {
            return false;
        }
        self.pos += at + 1;
        let first = self.expr();
        let value = self.tuple(first);
        for (n, name) in names.into_iter().enumerate() {
            let part = value.items().get(n).filter(|_| value.shape == Shape::List).cloned();
            let part = part.unwrap_or_else(|| value.element());
            self.bind(name, part);
        }
        true
    }

    /// `a = b, c` is a list in Python.
    fn tuple(&mut self, first: Value<'a>) -> Value<'a> {
        let lists = matches!(self.lang, Language::Python | Language::Other | Language::Ruby);
        if !lists || !self.is(0, K::Comma) || self.nest > 0 {
            return first;
        }
        let mut items = vec![first];
        while self.is(0, K::Comma) {
            self.pos += 1;
            items.push(self.expr());
        }
        Value::of_items(items, Shape::List)
    }
}
