//! Shell text → IR in one pass: bounded depth, linear time, no backtracking.

use std::borrow::Cow;

use super::ast::{List, Node, Part, Parts, Redirection, Simple, Stage, Word};
use super::heredoc::fill_word;
use crate::MAX_BYTES;

/// How deep constructs may nest before the text counts as unreadable.
pub const MAX_DEPTH: u8 = 40;

/// How many commands a text may hold, and words or redirections a command.
pub const MAX_PIECES: usize = 2_048;

/// Why a text could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PosixProblem {
    /// Too long to be looked at.
    TooLong,
    /// Nested too deep.
    TooDeep,
    /// A quote, bracket or block is not closed.
    Unclosed,
    /// Something stands where it cannot.
    Unexpected,
    /// More commands, words or redirections than are followed.
    TooMany,
}

/// What was read, and where reading stopped if it did.
#[derive(Debug)]
pub struct Parsed<'a> {
    /// Everything understood.
    pub list: List<'a>,
    /// The first problem.
    pub problem: Option<(PosixProblem, usize)>,
}

/// Reads a whole text.
pub fn parse(text: &str) -> Parsed<'_> {
    if text.len() > MAX_BYTES {
        return Parsed { list: Vec::new(), problem: Some((PosixProblem::TooLong, MAX_BYTES)) };
    }
    let mut parser = Parser::new(text);
    let mut list = Vec::with_capacity(1);
    let outcome = parser.list_into(&mut list, Until::End);
    let problem = outcome.err().map(|p| (p, parser.at));
    Parsed { list, problem }
}

/// Whether a text can be read to its end; if not, why and where reading stops.
pub fn check(text: &str) -> Result<(), (PosixProblem, usize)> {
    match parse(text).problem {
        None => Ok(()),
        Some(problem) => Err(problem),
    }
}

/// Words that only close or continue a block.
pub(super) const CLOSING: &[&str] = &["fi", "done", "then", "do", "else", "elif", "esac", "}"];

/// What ends a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    End,
    /// `)`
    Paren,
    /// One of the closing words, which is left unread.
    Words(&'static [&'static str]),
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) depth: u8,
    /// Stages read so far.
    stages: usize,
    /// Here-documents whose bodies begin after the next newline.
    pub(super) pending: Vec<Pending<'a>>,
    /// Bodies read, by the number their redirection waits for.
    pub(super) bodies: Vec<Option<Word<'a>>>,
}

pub(super) struct Pending<'a> {
    pub(super) mark: Cow<'a, str>,
    pub(super) quoted: bool,
    pub(super) strip_tabs: bool,
    pub(super) slot: usize,
}

pub(super) type Outcome<T> = Result<T, PosixProblem>;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Parser<'a> {
        Parser {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            stages: 0,
            pending: Vec::new(),
            bodies: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// The text between two offsets; empty if they do not fall on characters.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    pub(super) fn starts_with(&self, what: &str) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(what.as_bytes()))
    }

    /// Blanks, line continuations and comments; not newlines.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'\\') if self.peek_at(1) == Some(b'\r') && self.peek_at(2) == Some(b'\n') => {
                    self.at += 3;
                }
                Some(b'#') => {
                    while self.peek().is_some_and(|b| b != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    pub(super) fn skip_newlines(&mut self) -> Outcome<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Steps over a newline and reads the here-documents that begin behind it.
    pub(super) fn newline(&mut self) -> Outcome<()> {
        self.at += 1;
        if !self.pending.is_empty() {
            for pending in std::mem::take(&mut self.pending) {
                self.here_body(&pending)?;
            }
        }
        Ok(())
    }

    pub(super) fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth >= MAX_DEPTH {
            return Err(PosixProblem::TooDeep);
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Puts the bodies this reader found into a word it made.
    pub(super) fn finish(mut self, word: &mut Word<'a>) {
        let _ = self.finish_bodies();
        fill_word(word, &mut self.bodies);
    }

    pub(super) fn finish_bodies(&mut self) -> Outcome<()> {
        for pending in std::mem::take(&mut self.pending) {
            self.here_body(&pending)?;
        }
        Ok(())
    }

    pub(super) fn stage(&mut self) -> Outcome<Stage<'a>> {
        self.skip_blanks();
        self.stages += 1;
        if self.stages > MAX_PIECES {
            return Err(PosixProblem::TooMany);
        }
        let start = self.at;
        let mut redirections = Vec::new();
        let node = match self.compound()? {
            Some(node) => {
                self.skip_blanks();
                while let Some(redirection) = self.redirection()? {
                    redirections.push(redirection);
                    self.skip_blanks();
                }
                node
            }
            None => self.simple(&mut redirections)?,
        };
        Ok(Stage { node, redirections, start, end: self.at })
    }

    pub(super) fn simple(&mut self, redirections: &mut Vec<Redirection<'a>>) -> Outcome<Node<'a>> {
        // Most commands have no more words than this.
        let mut simple = Simple { words: Vec::with_capacity(8), ..Simple::default() };
        let start = self.at;
        loop {
            if simple.words.len() + redirections.len() > MAX_PIECES {
                return Err(PosixProblem::TooMany);
            }
            self.skip_blanks();
            if let Some(redirection) = self.redirection()? {
                redirections.push(redirection);
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') if self.after_bare_equals(&simple) => {
                    simple.words.pop();
                    simple.words.push(self.file_substitution()?);
                    continue;
                }
                Some(b'(') if self.after_equals(&simple) => {
                    // `declare -a x=(…)`: one word that holds all elements.
                    self.at += 1;
                    let mut elements = Vec::new();
                    self.array(&mut elements)?;
                    if let Some(word) = simple.words.last_mut() {
                        hold_elements(word, elements, self.at);
                    }
                    continue;
                }
                Some(b'(') => return self.after_paren(simple),
                _ => {}
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            match self.word()? {
                Some(word) => simple.words.push(word),
                None => return Err(PosixProblem::Unexpected),
            }
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && redirections.is_empty() {
            return if self.at >= self.bytes.len() && self.at == start {
                Err(PosixProblem::Unclosed)
            } else {
                Err(PosixProblem::Unexpected)
            };
        }
        Ok(Node::Simple(simple))
    }

    /// `=( … )` of zsh: a file that holds what the commands write.
    fn file_substitution(&mut self) -> Outcome<Word<'a>> {
        let start = self.at - 1;
        self.at += 1;
        let list = self.deeper(|r| r.list(Until::Paren))?;
        let parts = Parts::Many(vec![Part::Process { list, reads: true }]);
        Ok(Word { parts, start, end: self.at })
    }

    /// `name (` begins a function; after `declare` and its kin, array brackets were read before.
    fn after_paren(&mut self, simple: Simple<'a>) -> Outcome<Node<'a>> {
        let mut words = simple.words.into_iter();
        let (Some(word), None) = (words.next(), words.next()) else {
            return Err(PosixProblem::Unexpected);
        };
        self.at += 1;
        self.skip_blanks();
        if self.peek() != Some(b')') {
            return Err(PosixProblem::Unexpected);
        }
        self.at += 1;
        let name = self.slice(word.start, word.end);
        self.function_body(Cow::Borrowed(name))
    }
}

/// Puts the elements of a list into the word before them, with blanks between.
fn hold_elements<'a>(word: &mut Word<'a>, elements: Vec<Word<'a>>, end: usize) {
    let parts_of = |parts: Parts<'a>| match parts {
        Parts::Plain(text) => vec![Part::Bare(Cow::Borrowed(text))],
        Parts::Many(parts) => parts,
    };
    let mut all = parts_of(std::mem::replace(&mut word.parts, Parts::Plain("")));
    for (at, element) in elements.into_iter().enumerate() {
        if at > 0 {
            all.push(Part::Quoted(Cow::Borrowed(" ")));
        }
        all.extend(parts_of(element.parts));
    }
    word.parts = Parts::Many(all);
    word.end = end;
}
