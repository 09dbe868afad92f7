//! PowerShell text → syntax tree: one bounded pass. Statements and keywords are read here.

use std::borrow::Cow;

use super::ast::{PsElement, PsElementKind, PsExpr, PsPipeline, PsStatement, PsStatements};

/// How deep the parts of a text may nest; a parenthesis counts for about six.
pub const MAX_DEPTH: u16 = 240;
/// How many nodes one text may have.
const MAX_NODES: u32 = 60_000;

/// Why a text could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerShellProblem {
    /// A string, block or parenthesis without an end.
    Unclosed,
    /// A character that cannot stand there.
    Unexpected,
    /// Nested too deep.
    TooDeep,
    /// More parts than are followed.
    TooMany,
}

/// Where the reader is.
pub struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    depth: u16,
    nodes: u32,
    /// The first problem and its place.
    pub problem: Option<(PowerShellProblem, usize)>,
}

/// Reads a text; what was read before a problem stays.
pub fn parse(text: &str) -> (PsStatements<'_>, Option<(PowerShellProblem, usize)>) {
    let mut parser = Parser { text, at: 0, depth: 0, nodes: 0, problem: None };
    let statements = parser.statements(None);
    (statements, parser.problem)
}

impl<'t> Parser<'t> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn peek_at(&self, offset: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + offset).copied()
    }

    pub(super) fn char(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|rest| rest.chars().next())
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn bump(&mut self) {
        self.at += self.char().map_or(1, char::len_utf8);
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    pub(super) fn eat_str(&mut self, text: &str) -> bool {
        let here = self.rest().starts_with(text);
        self.at += if here { text.len() } else { 0 };
        here
    }

    pub(super) fn fail(&mut self, problem: PowerShellProblem, at: usize) {
        self.problem.get_or_insert((problem, at.min(self.text.len())));
    }

    /// Notes a node; false when there are too many or they nest too deep: the rest is not read.
    pub(super) fn enter(&mut self) -> bool {
        self.depth += 1;
        self.nodes += 1;
        let problem = if self.depth > MAX_DEPTH {
            PowerShellProblem::TooDeep
        } else if self.nodes > MAX_NODES {
            PowerShellProblem::TooMany
        } else {
            return true;
        };
        self.fail(problem, self.at);
        self.at = self.text.len();
        false
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Blanks, continued lines and comments; new lines too where `lines` says so.
    pub(super) fn blanks(&mut self, lines: bool) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\r' | b'\n' if lines => self.at += 1,
                b'\r' if self.peek_at(1) != Some(b'\n') => self.at += 1,
                b'`' if matches!(self.peek_at(1), Some(b'\n')) => self.at += 2,
                b'`' if self.peek_at(1) == Some(b'\r') => {
                    self.at += 2 + usize::from(self.peek_at(2) == Some(b'\n'));
                }
                b'<' if self.peek_at(1) == Some(b'#') => {
                    let start = self.at;
                    if let Some(end) = self.rest().find("#>") {
                        self.at += end + 2;
                    } else {
                        self.fail(PowerShellProblem::Unclosed, start);
                        self.at = self.text.len();
                    }
                }
                b'#' => {
                    let end = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += end;
                }
                byte if !byte.is_ascii() && self.char().is_some_and(char::is_whitespace) => {
                    self.bump();
                }
                _ => return,
            }
        }
    }

    /// Statements up to `end` (which is consumed) or the end of the text.
    pub(super) fn statements(&mut self, end: Option<u8>) -> PsStatements<'t> {
        let mut list = Vec::new();
        let start = self.at;
        if !self.enter() {
            self.leave();
            return list;
        }
        loop {
            self.blanks(true);
            match self.peek() {
                None => {
                    if end.is_some() {
                        self.fail(PowerShellProblem::Unclosed, start);
                    }
                    break;
                }
                Some(b';') => {
                    self.at += 1;
                    continue;
                }
                Some(byte) if Some(byte) == end => {
                    self.at += 1;
                    break;
                }
                Some(b')' | b'}') => {
                    self.fail(PowerShellProblem::Unexpected, self.at);
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let before = self.at;
            list.push(self.statement());
            self.blanks(false);
            match self.peek() {
                None | Some(b';' | b'\n' | b'\r' | b')' | b'}') => {}
                // `command &` runs it as a job.
                Some(b'&') if self.at > before => self.at += 1,
                _ if self.ends_with_block(before) => {}
                _ => {
                    self.fail(PowerShellProblem::Unexpected, self.at);
                    if self.at == before {
                        self.bump();
                    }
                }
            }
        }
        self.leave();
        list
    }

    /// `if (x) { } next`: behind a block no separator is needed.
    fn ends_with_block(&self, before: usize) -> bool {
        self.at > before && self.slice(before, self.at).trim_end().ends_with('}')
    }

    pub(super) fn statement(&mut self) -> PsStatement<'t> {
        if !self.enter() {
            self.leave();
            return PsStatement::Block(Vec::new());
        }
        let statement = self.one_statement();
        self.leave();
        statement
    }

    fn one_statement(&mut self) -> PsStatement<'t> {
        self.loop_label();
        let word = self.keyword();
        match word.as_ref() {
            "if" | "elseif" | "while" | "switch" => self.condition_and_blocks(word.len()),
            "for" => self.for_loop(),
            "foreach" => self.foreach_loop(),
            "do" => self.do_loop(),
            "try" | "trap" | "begin" | "process" | "end" | "clean" | "dynamicparam" | "finally"
            | "catch" | "else" | "parallel" | "sequence" | "inlinescript" | "data" => {
                self.blocks(word.len())
            }
            "function" | "filter" | "workflow" | "configuration" => self.function(word.len()),
            "param" => {
                self.at += word.len();
                self.blanks(true);
                let (_, body) = self.parameters();
                PsStatement::Block(body)
            }
            "return" | "throw" | "exit" | "break" | "continue" => {
                self.at += word.len();
                self.blanks(false);
                match self.peek() {
                    None | Some(b';' | b'\n' | b'\r' | b')' | b'}' | b'|') => {
                        PsStatement::Block(Vec::new())
                    }
                    _ => self.pipeline_statement(),
                }
            }
            "class" | "enum" => self.class(),
            "using" => {
                let end = self.rest().find(['\n', ';']).unwrap_or(self.rest().len());
                let start = self.at;
                self.at += end;
                let text = Cow::Borrowed(self.slice(start, self.at).trim());
                let word = PsExpr::Text { text, bare: true };
                statement_of(PsElementKind::Expression(word), start, self.at)
            }
            _ => self.pipeline_statement(),
        }
    }

    /// Passes over the label of a loop: `:outer foreach …`. In any other text the colon belongs to
    /// the word.
    fn loop_label(&mut self) {
        let start = self.at;
        if self.peek() != Some(b':') {
            return;
        }
        self.at += 1;
        let is_named = !self.name().is_empty();
        if is_named && matches!(self.peek(), None | Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.blanks(true);
        } else {
            self.at = start;
        }
    }

    /// The word here in lower case if it can be a keyword; nothing is consumed.
    pub(super) fn keyword(&self) -> Cow<'static, str> {
        let rest = self.rest().as_bytes();
        let end = rest.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(rest.len());
        let next = rest.get(end);
        let delimited = matches!(
            next,
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'(' | b'{' | b';' | b'}' | b')')
        );
        match self.rest().get(..end) {
            Some(word) if delimited && end <= 14 => Cow::Owned(word.to_ascii_lowercase()),
            _ => Cow::Borrowed(""),
        }
    }

    /// A plain name: letters, digits, `_`, `-`, `:`, `.` as functions and labels use them.
    pub(super) fn name(&mut self) -> &'t str {
        let start = self.at;
        while let Some(c) = self.char() {
            if c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.') {
                self.bump();
            } else {
                break;
            }
        }
        self.slice(start, self.at)
    }
}

/// A statement of one element.
pub(super) fn statement_of(kind: PsElementKind<'_>, start: usize, end: usize) -> PsStatement<'_> {
    let element = PsElement { kind, redirections: Vec::new(), start, end };
    PsStatement::Chain(vec![PsPipeline { elements: vec![element] }])
}
