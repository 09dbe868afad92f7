//! Shell text → IR in one pass: bounded depth, linear time, no backtracking.

use std::borrow::Cow;

use super::ast::{
    Assignment, Join, List, Node, Part, Parts, Pipeline, Redirection, Simple, Stage, Word,
};
use super::redirect::{fill_list, fill_word};

/// How deep constructs may nest before the text counts as unreadable.
pub const MAX_DEPTH: u8 = 40;
/// How long a text may be.
pub const MAX_BYTES: usize = 64 * 1024;

/// How many commands a text may hold, and words or redirections a command.
pub const MAX_PIECES: usize = 2_048;

/// Why a text could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
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
pub struct Read<'a> {
    /// Everything understood.
    pub list: List<'a>,
    /// The first problem.
    pub problem: Option<(Problem, usize)>,
}

/// Reads a whole text.
pub fn read(text: &str) -> Read<'_> {
    if text.len() > MAX_BYTES {
        return Read { list: Vec::new(), problem: Some((Problem::TooLong, MAX_BYTES)) };
    }
    let mut reader = Reader::new(text);
    let mut list = Vec::with_capacity(1);
    let outcome = reader.list_into(&mut list, Until::End);
    let problem = outcome.err().map(|p| (p, reader.at));
    Read { list, problem }
}

/// Words that only close or continue a block.
const CLOSING: &[&str] = &["fi", "done", "then", "do", "else", "elif", "esac", "}"];

/// What ends a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    End,
    /// `)`
    Paren,
    /// One of the closing words, which is left unread.
    Words(&'static [&'static str]),
}

pub(super) struct Reader<'a> {
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

pub(super) type Outcome<T> = Result<T, Problem>;

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        Reader {
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
            return Err(Problem::TooDeep);
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    pub(super) fn list(&mut self, until: Until) -> Outcome<List<'a>> {
        let mut list = Vec::new();
        self.list_into(&mut list, until)?;
        Ok(list)
    }

    /// Reads pipelines into `list`, so that what was understood survives a problem further on.
    fn list_into(&mut self, list: &mut List<'a>, until: Until) -> Outcome<()> {
        let first_body = self.bodies.len();
        let result = self.list_items(list, until);
        if self.bodies.len() > first_body && (until == Until::End || result.is_err()) {
            // The text ended right behind the mark, or in the middle: bodies that never came.
            let _ = self.finish_bodies();
        }
        if until == Until::End {
            let mut bodies = std::mem::take(&mut self.bodies);
            fill_list(list, &mut bodies);
        }
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

    fn list_items(&mut self, list: &mut List<'a>, until: Until) -> Outcome<()> {
        loop {
            self.skip_newlines()?;
            match self.peek() {
                None if until == Until::End => return Ok(()),
                None => return Err(Problem::Unclosed),
                Some(b')') if until == Until::Paren => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b')') => {
                    return if until == Until::End { Err(Problem::Unexpected) } else { Ok(()) };
                }
                Some(b';') if self.peek_at(1) == Some(b';') || self.peek_at(1) == Some(b'&') => {
                    return if matches!(until, Until::Words(_)) {
                        Ok(())
                    } else {
                        Err(Problem::Unexpected)
                    };
                }
                Some(b';') => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            if let Until::Words(words) = until
                && self.at_word(words)
            {
                return Ok(());
            }
            if self.at_word(CLOSING) {
                return Err(Problem::Unexpected);
            }
            self.and_or(list)?;
            // A `;` may not follow `&`, and a word may not follow a closed block.
            let after = self.at;
            self.skip_blanks();
            let ended = self.bytes.get(after.saturating_sub(1)) == Some(&b'&');
            match self.peek() {
                Some(b';') if ended => return Err(Problem::Unexpected),
                None | Some(b'\n' | b';' | b')' | b'&' | b'|' | b'(') => {}
                _ if ended || self.at_word(CLOSING) => {}
                _ => return Err(Problem::Unexpected),
            }
        }
    }

    /// Pipelines joined by `&&` and `||`, with their end.
    fn and_or(&mut self, list: &mut List<'a>) -> Outcome<()> {
        let mut join = Join::Then;
        loop {
            let mut pipeline =
                Pipeline { stages: Vec::with_capacity(1), background: false, join, negated: false };
            let result = self.pipeline(&mut pipeline);
            let got = !pipeline.stages.is_empty();
            if result.is_err() {
                if got {
                    list.push(pipeline);
                }
                return result;
            }
            self.skip_blanks();
            join = if self.starts_with("&&") { Join::And } else { Join::Or };
            let joined = join == Join::And || self.starts_with("||");
            if joined {
                self.at += 2;
            } else if self.peek() == Some(b'&') {
                self.at += 1;
                pipeline.background = true;
            }
            list.push(pipeline);
            if !joined {
                return Ok(());
            }
            self.skip_newlines()?;
        }
    }

    fn pipeline(&mut self, pipeline: &mut Pipeline<'a>) -> Outcome<()> {
        self.skip_blanks();
        while self.at_word(&["!", "time", "coproc"]) {
            let word = self.raw_word();
            pipeline.negated |= word == "!";
            self.at += word.len();
            self.skip_blanks();
            // `time -p`
            if word == "time" && self.at_word(&["-p", "--"]) {
                self.at += 2;
                self.skip_blanks();
            }
            // `coproc NAME { … }`
            if word == "coproc" {
                let name = self.raw_word().len();
                let rest = self.bytes.get(self.at + name..).unwrap_or_default();
                let next = rest.iter().find(|b| !matches!(b, b' ' | b'\t'));
                if name > 0 && !self.at_word(&["{"]) && matches!(next, Some(b'{' | b'(')) {
                    self.at += name;
                    self.skip_blanks();
                }
            }
            // `time` or `!` alone is a whole pipeline.
            if matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b')')) {
                let at = self.at;
                let node = Node::Simple(Simple::default());
                pipeline.stages.push(Stage { node, redirections: Vec::new(), start: at, end: at });
                return Ok(());
            }
        }
        loop {
            let stage = self.stage()?;
            pipeline.stages.push(stage);
            self.skip_blanks();
            match (self.peek(), self.peek_at(1)) {
                (Some(b'|'), Some(b'|')) => return Ok(()),
                (Some(b'|'), Some(b'&')) => self.at += 2,
                (Some(b'|'), _) => self.at += 1,
                _ => return Ok(()),
            }
            self.skip_newlines()?;
        }
    }

    /// The unquoted word at this place, without reading it.
    pub(super) fn raw_word(&self) -> &'a str {
        let mut end = self.at;
        while let Some(&b) = self.bytes.get(end) {
            if matches!(
                b,
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')'
            ) {
                break;
            }
            end += 1;
        }
        self.slice(self.at, end)
    }

    /// Whether one of these words stands here, whole.
    pub(super) fn at_word(&self, words: &[&str]) -> bool {
        let Some(first) = self.peek() else { return false };
        if !words.iter().any(|w| w.as_bytes().first() == Some(&first)) {
            return false;
        }
        let here = self.raw_word();
        words.contains(&here)
    }

    pub(super) fn expect_word(&mut self, word: &'static str) -> Outcome<()> {
        self.skip_newlines()?;
        if self.at_word(&[word]) {
            self.at += word.len();
            Ok(())
        } else if self.at >= self.bytes.len() {
            Err(Problem::Unclosed)
        } else {
            Err(Problem::Unexpected)
        }
    }

    pub(super) fn stage(&mut self) -> Outcome<Stage<'a>> {
        self.skip_blanks();
        self.stages += 1;
        if self.stages > MAX_PIECES {
            return Err(Problem::TooMany);
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
                return Err(Problem::TooMany);
            }
            self.skip_blanks();
            if let Some(redirection) = self.redirection()? {
                redirections.push(redirection);
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') if self.after_bare_equals(&simple) => {
                    // `=( … )` of zsh: a file that holds what the commands write.
                    simple.words.pop();
                    let start = self.at - 1;
                    self.at += 1;
                    let list = self.deeper(|r| r.list(Until::Paren))?;
                    let parts = Parts::Many(vec![Part::Process { list, reads: true }]);
                    simple.words.push(Word { parts, start, end: self.at });
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
                None => return Err(Problem::Unexpected),
            }
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && redirections.is_empty() {
            return if self.at >= self.bytes.len() && self.at == start {
                Err(Problem::Unclosed)
            } else {
                Err(Problem::Unexpected)
            };
        }
        Ok(Node::Simple(simple))
    }

    fn after_bare_equals(&self, simple: &Simple<'a>) -> bool {
        let Some(word) = simple.words.last() else { return false };
        word.end == self.at && self.slice(word.start, word.end) == "="
    }

    fn after_equals(&self, simple: &Simple<'a>) -> bool {
        let before = self.at.checked_sub(1).and_then(|i| self.bytes.get(i));
        before == Some(&b'=') && simple.words.last().is_some_and(|w| w.end == self.at)
    }

    /// `name (` begins a function; after `declare` and its kin, array brackets were read before.
    fn after_paren(&mut self, simple: Simple<'a>) -> Outcome<Node<'a>> {
        let mut words = simple.words.into_iter();
        let (Some(word), None) = (words.next(), words.next()) else {
            return Err(Problem::Unexpected);
        };
        self.at += 1;
        self.skip_blanks();
        if self.peek() != Some(b')') {
            return Err(Problem::Unexpected);
        }
        self.at += 1;
        let name = self.slice(word.start, word.end);
        self.function_body(Cow::Borrowed(name))
    }

    /// `NAME=`, `NAME+=`, `NAME[i]=` if one begins here.
    pub(super) fn assignment(&mut self) -> Outcome<Option<Assignment<'a>>> {
        let start = self.at;
        let mut end = start;
        while self.bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            end += 1;
        }
        if end == start || self.bytes.get(start).is_some_and(u8::is_ascii_digit) {
            return Ok(None);
        }
        let name = self.slice(start, end);
        let mut inside = Vec::new();
        let mut subscript = None;
        if self.bytes.get(end) == Some(&b'[') {
            let from = end + 1;
            let back = self.at;
            self.at = end + 1;
            let Ok(parts) = self.deeper(|r| r.bracketed(false)) else {
                self.at = back;
                return Ok(None);
            };
            inside = parts;
            end = self.at;
            subscript = Some(self.slice(from, end.saturating_sub(1)));
            self.at = back;
        }
        let append = self.bytes.get(end) == Some(&b'+');
        let equals = end + usize::from(append);
        if self.bytes.get(equals) != Some(&b'=') {
            return Ok(None);
        }
        self.at = equals + 1;
        let mut value = Vec::new();
        if subscript.is_some() {
            // An index is arithmetic: the values of variables in it are evaluated.
            let index = Part::Arithmetic { parts: inside };
            let parts = Parts::Many(vec![Part::Aside(vec![index])]);
            value.push(Word { parts, start, end: equals });
        }
        let list = self.peek() == Some(b'(');
        if list {
            self.at += 1;
            self.array(&mut value)?;
        } else if let Some(word) = self.word()? {
            value.push(word);
        }
        Ok(Some(Assignment { name, subscript, append, list, value }))
    }

    /// Elements up to `)`.
    pub(super) fn array(&mut self, value: &mut Vec<Word<'a>>) -> Outcome<()> {
        loop {
            self.skip_newlines()?;
            match self.peek() {
                None => return Err(Problem::Unclosed),
                Some(b')') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => value.push(self.word()?.ok_or(Problem::Unexpected)?),
            }
        }
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
