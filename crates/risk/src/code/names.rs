//! How names come to be: imports, definitions, assignments, destructuring.

use crate::code::Language;
use crate::code::lex::K;
use crate::code::reader::Reader;
use crate::code::table::id;
use crate::code::value::{Shape, Value};
use crate::limit::Limit;

/// Modules that are remembered.
const MODULES: Limit = Limit::new("modules", 128);
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

    /// A module by its name in an import.
    pub(super) fn module(&mut self, name: &'a str) -> Value<'a> {
        let name = name.strip_prefix("node:").unwrap_or(name);
        if !self.modules.contains(&name) && self.within(MODULES, self.modules.len() + 1) {
            self.modules.push(name);
        }
        Value { node: self.table.dotted(name).unwrap_or(0), ..Value::default() }
    }

    /// `import a.b as c`, `from a import b as c`, `import x, {y as z} from 'm'`.
    pub(super) fn import(&mut self, word: &str) -> bool {
        match (self.lang, word) {
            (Language::Python, "import") => self.python_import(),
            (Language::Python, "from") => self.python_from(),
            (Language::JavaScript, "import") if !self.opens(1, b'(') => self.js_import(),
            (Language::Perl | Language::Php, "use") => {
                let name = self.word(1);
                self.module(name);
                self.pos += 2;
            }
            _ => return false,
        }
        true
    }

    /// A dotted name; gives its text and its first part.
    fn dotted(&mut self) -> (&'a str, &'a str) {
        let Some(first) = self.tok(0).filter(|t| t.k == K::Ident) else { return ("", "") };
        let mut last = first;
        self.pos += 1;
        while self.is(0, K::Dot) && self.is(1, K::Ident) {
            last = self.tok(1).unwrap_or(last);
            self.pos += 2;
        }
        let whole = self.src.get(first.start as usize..last.end as usize).unwrap_or_default();
        (whole, self.slice(&first))
    }

    fn alias(&mut self) -> Option<&'a str> {
        if self.word(0) != "as" {
            return None;
        }
        let name = self.word(1);
        self.pos += 2;
        (!name.is_empty()).then_some(name)
    }

    fn python_import(&mut self) {
        self.pos += 1;
        loop {
            let (whole, first) = self.dotted();
            if whole.is_empty() {
                return;
            }
            let value = self.module(whole);
            if let Some(name) = self.alias() {
                self.bind(name, value);
            } else {
                let node = self.table.child(0, first).unwrap_or(0);
                self.bind(first, Value { node, ..Value::default() });
            }
            if !self.is(0, K::Comma) {
                return;
            }
            self.pos += 1;
        }
    }

    fn python_from(&mut self) {
        self.pos += 1;
        let (whole, _) = self.dotted();
        let module = self.module(whole);
        if self.word(0) != "import" {
            return;
        }
        self.pos += 1;
        while let Some(tok) = self.tok(0) {
            match tok.k {
                K::Star => {
                    self.pos += 1;
                    let children = self.table.node(module.node).map_or(&[][..], |n| n.children);
                    for (_, name, node) in children.iter().filter(|_| module.node != 0) {
                        self.env.insert(id(name), Value { node: *node, ..Value::default() });
                    }
                    return;
                }
                K::Ident => {
                    let name = self.slice(&tok);
                    self.pos += 1;
                    let local = self.alias().unwrap_or(name);
                    let value = self.part_of(&module, name);
                    self.bind(local, value);
                }
                K::Open | K::Comma => self.pos += 1,
                K::Newline if self.is(1, K::Ident) && self.is(2, K::Comma) => self.pos += 1,
                K::Close => {
                    self.pos += 1;
                    return;
                }
                _ => return,
            }
        }
    }

    fn part_of(&self, module: &Value<'a>, name: &str) -> Value<'a> {
        let child = if module.node == 0 { None } else { self.table.child(module.node, name) };
        Value { node: child.unwrap_or(0), ..Value::default() }
    }

    fn js_import(&mut self) {
        self.pos += 1;
        let mut names: Vec<(&'a str, &'a str)> = Vec::new();
        let mut braced = false;
        while let Some(tok) = self.tok(0) {
            match (tok.k, self.slice(&tok)) {
                (K::Ident, "from" | "type") | (K::Comma, _) => self.pos += 1,
                (K::Open, _) => {
                    braced = true;
                    self.pos += 1;
                }
                (K::Close, _) => {
                    braced = false;
                    self.pos += 1;
                }
                (K::Newline, _) if braced => self.pos += 1,
                (K::Ident | K::Star, name) => {
                    self.pos += 1;
                    let local = self.alias().unwrap_or(name);
                    names.push((local, if braced { name } else { "" }));
                }
                (K::Str, _) => {
                    let range = tok.inner as usize..tok.inner_end as usize;
                    let module = self.module(self.src.get(range).unwrap_or_default());
                    for (local, part) in names {
                        let whole = part.is_empty() || part == "default";
                        let value =
                            if whole { module.clone() } else { self.part_of(&module, part) };
                        self.bind(local, value);
                    }
                    self.pos += 1;
                    return;
                }
                _ => return,
            }
        }
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
