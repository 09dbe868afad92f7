//! Loops and blocks of code.

use crate::code::Language;
use crate::code::reader::Reader;
use crate::code::token::K;

impl<'a> Reader<'a, '_> {
    /// `while True`, `while (1)`, `for (;;)`, `loop do`, `fork while fork`.
    pub(super) fn forever(&mut self) {
        let skip = if self.opens(1, b'(') { 2 } else { 1 };
        let first = self.tok(skip).map_or("", |t| self.slice(&t));
        let endless = matches!(first, "True" | "true" | "1" | "fork" | "do" | "{" | "not");
        if endless || self.word(0) == "loop" {
            self.forever_from_here();
        }
        self.pos += 1;
    }

    fn forever_from_here(&mut self) {
        let python = self.lang == Language::Python;
        self.endless = Some(if python { self.indent } else { self.block });
    }

    fn for_clause_names(&mut self) -> Vec<&'a str> {
        let mut names = Vec::new();
        while let Some(tok) = self.tok(0) {
            match (tok.k, self.slice(&tok)) {
                (K::Ident, "in" | "of") => {
                    self.pos += 1;
                    return names;
                }
                (K::Ident, "const" | "let" | "var" | "my" | "await" | "each")
                | (K::Comma, _)
                | (K::Open, "(" | "[")
                | (K::Close, ")" | "]") => {}
                (K::Ident, name) => names.push(name),
                (K::Semi, _) => {
                    if self.is(1, K::Semi) {
                        self.forever_from_here();
                    }
                    return Vec::new();
                }
                _ => return Vec::new(),
            }
            self.pos += 1;
        }
        Vec::new()
    }

    /// `for a, b in list`, `for (const a of list)`, `foreach ($list as $a)`.
    pub(super) fn for_clause(&mut self) {
        self.pos += 1;
        if self.lang == Language::Php || self.lang == Language::Perl {
            self.foreach();
            return;
        }
        let start = self.pos;
        let names = self.for_clause_names();
        if names.is_empty() {
            self.pos = self.pos.max(start);
            return;
        }
        let list = self.expr();
        let element = list.element();
        for name in names {
            self.bind_more(name, element.clone());
        }
    }

    pub(super) fn foreach(&mut self) {
        let mut name = "";
        while matches!(self.word(0), "my" | "our") || self.word(0).starts_with('$') {
            if self.word(0).starts_with('$') {
                name = self.word(0);
            }
            self.pos += 1;
        }
        if !self.opens(0, b'(') {
            return;
        }
        if self.is(1, K::Semi) && self.is(2, K::Semi) {
            self.forever_from_here();
        }
        self.pos += 1;
        let list = self.expr();
        if self.word(0) == "as" {
            name = self.word(1);
            self.pos += 2;
        }
        self.bind_more(if name.is_empty() { "$_" } else { name }, list.element());
    }

    pub(super) fn with(&mut self) {
        self.pos += 1;
        loop {
            let value = self.expr();
            if self.word(0) == "as" {
                let name = self.word(1);
                self.pos += 2;
                self.bind(name, value);
            }
            if !self.is(0, K::Comma) {
                return;
            }
            self.pos += 1;
        }
    }

    /// Ruby's `|x, y|` after `each do` or `{`.
    pub(super) fn block_params(&mut self) {
        self.pos += 1;
        let element = self.over.take().map(|v| v.element()).unwrap_or_default();
        while !self.word(0).is_empty() || self.is(0, K::Comma) {
            let name = self.word(0);
            if !name.is_empty() {
                self.bind_more(name, element.clone());
            }
            self.pos += 1;
        }
        if self.tok(0).is_some_and(|t| t.mark == b'|') {
            self.pos += 1;
        }
    }
}
