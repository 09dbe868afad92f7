//! Imports: which module a name comes from.

use crate::code::Language;
use crate::code::reader::Reader;
use crate::code::table::id;
use crate::code::token::K;
use crate::code::value::Value;
use crate::limit::Limit;

/// Modules that are remembered.
const MODULES: Limit = Limit::new("modules", 128);
impl<'a> Reader<'a, '_> {
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

    /// A name in a module.
    pub(super) fn part_of(&self, module: &Value<'a>, name: &str) -> Value<'a> {
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
}
