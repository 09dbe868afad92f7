//! The reader: names, bindings and statements of code, walked once or twice, never run.

use std::collections::BTreeMap;

use crate::code::Language;
use crate::code::lex::lex;
use crate::code::table::{Id, Table, of};
use crate::code::token::{K, KEYWORD, Tok};
use crate::code::value::Value;
use crate::context::Context;
use crate::finding::{Findings, Span};
use crate::limit::Limit;
use crate::nested_command::ReadNested;

/// Strings with code inside that do not close: what follows them is not read as code.
const UNCLOSED: Limit = Limit::new("unclosed strings", 0);

/// A function the code defines.
#[derive(Debug, Default)]
pub(super) struct Function<'a> {
    pub(super) params: Vec<&'a str>,
    pub(super) returns: Value<'a>,
    pub(super) forks: bool,
}

/// Reads one piece of code.
pub(super) struct Reader<'a, 'o> {
    pub(super) lang: Language,
    pub(super) table: &'static Table,
    pub(super) src: &'a str,
    pub(super) base: usize,
    pub(super) toks: Vec<Tok>,
    /// Code inside strings that was not read.
    unread: bool,
    pub(super) pos: usize,
    pub(super) env: BTreeMap<Id<'a>, Value<'a>>,
    pub(super) attrs: BTreeMap<Id<'a>, Value<'a>>,
    pub(super) funcs: BTreeMap<Id<'a>, Function<'a>>,
    pub(super) modules: Vec<&'a str>,
    pub(super) out: &'o mut Findings,
    pub(super) ctx: &'o Context<'o>,
    /// Folders that the code entered so far.
    pub(super) entered: Vec<String>,
    /// Reads the commands that the code hands to a shell.
    pub(super) nested: ReadNested,
    pub(super) depth: u8,
    /// First of two walks: bindings only.
    pub(super) quiet: bool,
    pub(super) signs: u32,
    /// Decoded text has no place of its own: everything points here.
    pub(super) fixed: Option<Span>,
    pub(super) nest: u8,
    pub(super) holes: u8,
    pub(super) block: u32,
    pub(super) indent: u32,
    /// How deep the endless loop stands that we are in.
    pub(super) endless: Option<u32>,
    /// A name is only looked for in something, or handed to a child.
    pub(super) member: bool,
    pub(super) function: &'a str,
    pub(super) class: &'a str,
    /// What a method with a callback runs over.
    pub(super) over: Option<Value<'a>>,
    pub(super) params: Vec<&'a str>,
    /// What putting together and reading again may still cost.
    pub(super) fuel: usize,
}

impl<'a, 'o> Reader<'a, 'o> {
    pub(super) fn new(
        lang: Language,
        src: &'a str,
        base: usize,
        ctx: &'o Context<'o>,
        depth: u8,
        nested: ReadNested,
        out: &'o mut Findings,
    ) -> Reader<'a, 'o> {
        let (toks, unread) = lex(src, 0, src.len(), lang);
        Reader {
            lang,
            table: of(lang),
            src,
            base,
            toks,
            unread,
            pos: 0,
            env: BTreeMap::new(),
            attrs: BTreeMap::new(),
            funcs: BTreeMap::new(),
            modules: Vec::new(),
            out,
            ctx,
            entered: Vec::new(),
            depth,
            nested,
            quiet: false,
            signs: 0,
            fixed: None,
            nest: 0,
            holes: 0,
            block: 0,
            indent: 0,
            endless: None,
            member: false,
            function: "",
            class: "",
            over: None,
            params: Vec::new(),
            fuel: 65_536 + 8 * src.len(),
        }
    }

    /// Walks the code; twice where names are used before they are bound.
    pub(super) fn run(&mut self) {
        if self.unread {
            self.exceeded(UNCLOSED.exceeded());
        }
        if self.needs_two_walks() {
            self.quiet = true;
            self.walk();
            self.quiet = false;
            self.signs = 0;
            self.pos = 0;
        }
        self.walk();
        self.acting_modules();
        for combo in self.table.combos {
            if self.signs & combo.signs == combo.signs {
                self.note(combo, combo.tier, "", (0, 0));
            }
        }
    }

    fn needs_two_walks(&self) -> bool {
        let mut brackets = 0_u32;
        self.toks.iter().any(|t| match t.k {
            K::Open => {
                brackets += 1;
                false
            }
            K::Close => {
                brackets = brackets.saturating_sub(1);
                false
            }
            K::Arrow => true,
            K::Ident if t.mark == KEYWORD => match self.slice(t) {
                "def" | "lambda" => true,
                "function" | "sub" | "fn" => self.lang != Language::Python,
                "for" => brackets > 0,
                _ => false,
            },
            _ => false,
        })
    }

    fn walk(&mut self) {
        (self.indent, self.block, self.nest, self.function) = (0, 0, 0, "");
        self.endless = None;
        while self.pos < self.toks.len() {
            let before = self.pos;
            self.statement();
            self.pos = self.pos.max(before + 1);
        }
    }

    pub(super) fn slice(&self, tok: &Tok) -> &'a str {
        self.src.get(tok.start as usize..tok.end as usize).unwrap_or_default()
    }

    pub(super) fn tok(&self, ahead: usize) -> Option<Tok> {
        self.toks.get(self.pos + ahead).copied()
    }

    pub(super) fn is(&self, ahead: usize, k: K) -> bool {
        self.tok(ahead).is_some_and(|t| t.k == k)
    }

    pub(super) fn opens(&self, ahead: usize, bracket: u8) -> bool {
        self.tok(ahead).is_some_and(|t| t.k == K::Open && t.mark == bracket)
    }

    pub(super) fn word(&self, ahead: usize) -> &'a str {
        self.tok(ahead).filter(|t| t.k == K::Ident).map_or("", |t| self.slice(&t))
    }

    /// One statement, or the piece of one that can be read at once.
    pub(super) fn statement(&mut self) {
        let Some(tok) = self.tok(0) else { return };
        match tok.k {
            K::Newline => {
                self.indent = tok.inner;
                self.pos += 1;
                let text = !self.is(0, K::Newline) && self.lang == Language::Python;
                if text && self.endless.is_some_and(|level| self.indent <= level) {
                    self.endless = None;
                }
            }
            K::Open if tok.mark == b'{' => {
                self.pos += 1;
                self.block += 1;
            }
            K::Close => {
                self.pos += 1;
                self.block = self.block.saturating_sub(1);
                if self.endless.is_some_and(|level| self.block <= level) {
                    self.endless = None;
                }
            }
            K::Semi | K::Comma | K::Colon | K::Arrow | K::Assign | K::Aug => self.pos += 1,
            K::Other if tok.mark == b'|' => self.block_params(),
            K::Ident => {
                let word = self.slice(&tok);
                if tok.mark != KEYWORD || !self.keyword(word) {
                    self.assignment();
                }
            }
            _ => drop(self.expr()),
        }
    }

    fn keyword(&mut self, word: &'a str) -> bool {
        let python = self.lang == Language::Python;
        match word {
            "import" | "from" | "use" | "require_relative" if self.import(word) => return true,
            "def" if !self.is(1, K::Assign) && self.definition() => return true,
            "function" | "sub" if !python && self.definition() => return true,
            "class" if !self.is(1, K::Assign) => {
                self.class = self.word(1);
                self.pos += 2;
            }
            "for" => self.for_clause(),
            "foreach" if !python => self.for_clause(),
            "while" => self.forever(),
            "until" | "loop" if !python => self.forever(),
            "with" if python => self.with(),
            "return" => {
                self.pos += 1;
                let value = self.expr();
                self.returned(value);
            }
            "const" | "let" | "var" | "my" | "our" | "local" if !python => {
                self.pos += 1;
                if self.opens(0, b'{') {
                    self.destructure();
                }
            }
            "if" | "else" | "try" | "elif" | "except" => {
                // What follows on the line happens or does not.
                self.indent = self.indent.max(1);
                self.pos += 1;
            }
            "finally" | "assert" | "async" | "yield" | "await" => self.pos += 1,
            "raise" | "global" | "nonlocal" | "del" if python => self.pos += 1,
            "elsif" | "elseif" | "do" | "then" | "end" | "throw" | "export" | "static"
            | "public" | "private" | "begin" | "rescue" | "ensure" | "unless" | "case" | "when"
            | "switch"
                if !python =>
            {
                self.pos += 1;
            }
            _ => return false,
        }
        true
    }

    /// Where something stands, in the caller's argument.
    pub(super) fn span(&self, at: (u32, u32)) -> Span {
        self.fixed.unwrap_or_else(|| {
            let end = if at.1 == 0 { self.src.len() } else { at.1 as usize };
            Span::new(self.base + at.0 as usize, self.base + end.min(self.src.len()))
        })
    }
}
