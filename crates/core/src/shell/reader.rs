//! Shell text → IR in one pass: bounded depth, linear time, no backtracking.

use std::borrow::Cow;

use super::ast::{
    Assignment, List, Node, Parts, Pipeline, Redirect, Redirection, Simple, Stage, Word,
};

/// How deep constructs may nest before the text counts as unreadable.
pub const MAX_DEPTH: u8 = 40;
/// How long a text may be.
pub const MAX_BYTES: usize = 256 * 1024;

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
    let mut list = Vec::new();
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
    /// Here-documents whose bodies begin after the next newline.
    pending: Vec<Pending<'a>>,
    /// Bodies read, by the number their redirection waits for.
    bodies: Vec<Option<Word<'a>>>,
}

struct Pending<'a> {
    mark: Cow<'a, str>,
    quoted: bool,
    strip_tabs: bool,
    slot: usize,
}

pub(super) type Outcome<T> = Result<T, Problem>;

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
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

    fn starts_with(&self, what: &str) -> bool {
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

    fn skip_newlines(&mut self) -> Outcome<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Steps over a newline and reads the here-documents that begin behind it.
    fn newline(&mut self) -> Outcome<()> {
        self.at += 1;
        if !self.pending.is_empty() {
            for pending in std::mem::take(&mut self.pending) {
                self.here_body(&pending)?;
            }
        }
        Ok(())
    }

    fn here_body(&mut self, pending: &Pending<'a>) -> Outcome<()> {
        let start = self.at;
        let mut end = self.bytes.len();
        while self.at < self.bytes.len() {
            let line = self.at;
            while self.peek().is_some_and(|b| b != b'\n') {
                self.at += 1;
            }
            let written = self.slice(line, self.at);
            self.at = (self.at + 1).min(self.bytes.len());
            let seen = if pending.strip_tabs { written.trim_start_matches('\t') } else { written };
            if seen.trim_end_matches('\r') == pending.mark {
                end = line;
                break;
            }
        }
        let body = self.slice(start, end);
        let after = self.at;
        let word = if pending.quoted {
            Word { parts: Parts::Many(vec![super::ast::Part::Quoted(body.into())]), start, end }
        } else {
            self.here_word(body, start)?
        };
        self.at = after;
        if let Some(slot) = self.bodies.get_mut(pending.slot) {
            *slot = Some(word);
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

    fn finish_bodies(&mut self) -> Outcome<()> {
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
            if let Until::Words(words) = until {
                if self.at_word(words) {
                    return Ok(());
                }
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
        loop {
            let mut pipeline = Pipeline { stages: Vec::with_capacity(1), background: false };
            let result = self.pipeline(&mut pipeline);
            let got = !pipeline.stages.is_empty();
            if result.is_err() {
                if got {
                    list.push(pipeline);
                }
                return result;
            }
            self.skip_blanks();
            let joined = self.starts_with("&&") || self.starts_with("||");
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
            self.at += word.len();
            self.skip_blanks();
            // `time -p`
            if word == "time" && self.at_word(&["-p", "--"]) {
                self.at += 2;
                self.skip_blanks();
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
    fn raw_word(&self) -> &'a str {
        let mut end = self.at;
        while let Some(&b) = self.bytes.get(end) {
            if matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') {
                break;
            }
            end += 1;
        }
        self.slice(self.at, end)
    }

    /// Whether one of these words stands here, whole.
    fn at_word(&self, words: &[&str]) -> bool {
        let Some(first) = self.peek() else { return false };
        if !words.iter().any(|w| w.as_bytes().first() == Some(&first)) {
            return false;
        }
        let here = self.raw_word();
        words.contains(&here)
    }

    fn expect_word(&mut self, word: &'static str) -> Outcome<()> {
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

    fn stage(&mut self) -> Outcome<Stage<'a>> {
        self.skip_blanks();
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

    /// A compound command if one begins here.
    fn compound(&mut self) -> Outcome<Option<Node<'a>>> {
        let Some(first) = self.peek() else { return Err(Problem::Unclosed) };
        match first {
            b'(' if self.peek_at(1) == Some(b'(') => {
                if let Some(node) = self.arithmetic_command()? {
                    return Ok(Some(node));
                }
                self.subshell().map(Some)
            }
            b'(' => self.subshell().map(Some),
            b'{' | b'[' | b'i' | b'w' | b'u' | b'f' | b'c' | b's' => {
                let word = self.raw_word();
                match word {
                    "{" => self.block("{", &["}"]).map(Some),
                    "[[" => self.test().map(Some),
                    "if" => self.deeper(Self::if_command).map(Some),
                    "while" | "until" => self.deeper(Self::loop_command).map(Some),
                    "for" | "select" => self.deeper(Self::for_command).map(Some),
                    "case" => self.deeper(Self::case_command).map(Some),
                    "function" => self.deeper(Self::function_word).map(Some),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    fn subshell(&mut self) -> Outcome<Node<'a>> {
        self.at += 1;
        let list = self.deeper(|r| r.list(Until::Paren))?;
        Ok(Node::Group(list))
    }

    fn block(&mut self, open: &'static str, close: &'static [&'static str]) -> Outcome<Node<'a>> {
        self.at += open.len();
        let list = self.deeper(|r| r.list(Until::Words(close)))?;
        let word = self.raw_word();
        if !close.contains(&word) {
            return Err(Problem::Unexpected);
        }
        self.at += word.len();
        Ok(Node::Group(list))
    }

    fn if_command(&mut self) -> Outcome<Node<'a>> {
        self.at += 2;
        let mut all = Vec::new();
        loop {
            all.extend(self.list(Until::Words(&["then"]))?);
            self.expect_word("then")?;
            all.extend(self.list(Until::Words(&["elif", "else", "fi"]))?);
            match self.raw_word() {
                "elif" => self.at += 4,
                "else" => {
                    self.at += 4;
                    all.extend(self.list(Until::Words(&["fi"]))?);
                    self.expect_word("fi")?;
                    return Ok(Node::Group(all));
                }
                "fi" => {
                    self.at += 2;
                    return Ok(Node::Group(all));
                }
                _ => return Err(Problem::Unexpected),
            }
        }
    }

    fn loop_command(&mut self) -> Outcome<Node<'a>> {
        self.at += 5;
        let mut all = self.list(Until::Words(&["do"]))?;
        self.expect_word("do")?;
        all.extend(self.list(Until::Words(&["done"]))?);
        self.expect_word("done")?;
        Ok(Node::Group(all))
    }

    fn for_command(&mut self) -> Outcome<Node<'a>> {
        self.at += self.raw_word().len();
        self.skip_blanks();
        let mut words = Vec::new();
        let mut name = "";
        if self.starts_with("((") {
            let Some(node) = self.arithmetic_command()? else { return Err(Problem::Unexpected) };
            if let Node::Test(inner) = node {
                words = inner;
            }
        } else {
            name = self.raw_word();
            self.at += name.len();
            self.skip_newlines()?;
            if self.at_word(&["in"]) {
                self.at += 2;
                self.skip_blanks();
                while !matches!(self.peek(), None | Some(b'\n' | b';')) {
                    words.push(self.word()?.ok_or(Problem::Unexpected)?);
                    self.skip_blanks();
                }
            }
        }
        self.skip_newlines()?;
        if self.peek() == Some(b';') {
            self.at += 1;
        }
        self.skip_newlines()?;
        let body = if self.at_word(&["{"]) {
            match self.block("{", &["}"])? {
                Node::Group(list) => list,
                _ => return Err(Problem::Unexpected),
            }
        } else {
            self.expect_word("do")?;
            let body = self.list(Until::Words(&["done"]))?;
            self.expect_word("done")?;
            body
        };
        Ok(Node::For { name, words, body })
    }

    fn case_command(&mut self) -> Outcome<Node<'a>> {
        self.at += 4;
        self.skip_blanks();
        let word = self.word()?.ok_or(Problem::Unexpected)?;
        self.expect_word("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.at_word(&["esac"]) {
                self.at += 4;
                return Ok(Node::Case { word, arms });
            }
            if self.peek() == Some(b'(') {
                self.at += 1;
            }
            loop {
                self.skip_blanks();
                match self.peek() {
                    Some(b'|') => self.at += 1,
                    Some(b')') => break,
                    None => return Err(Problem::Unclosed),
                    _ => {
                        if self.word()?.is_none() {
                            return Err(Problem::Unexpected);
                        }
                    }
                }
            }
            self.at += 1;
            arms.push(self.list(Until::Words(&["esac"]))?);
            for end in [";;&", ";;", ";&"] {
                if self.starts_with(end) {
                    self.at += end.len();
                    break;
                }
            }
        }
    }

    fn function_word(&mut self) -> Outcome<Node<'a>> {
        self.at += "function".len();
        self.skip_blanks();
        let name = self.raw_word();
        if name.is_empty() {
            return Err(Problem::Unexpected);
        }
        self.at += name.len();
        self.skip_blanks();
        if self.peek() == Some(b'(') {
            self.at += 1;
            self.skip_blanks();
            if self.peek() != Some(b')') {
                return Err(Problem::Unexpected);
            }
            self.at += 1;
        }
        self.function_body(Cow::Borrowed(name))
    }

    fn function_body(&mut self, name: Cow<'a, str>) -> Outcome<Node<'a>> {
        self.skip_newlines()?;
        let body = self.deeper(Self::stage)?;
        Ok(Node::Function { name, body: Box::new(body) })
    }

    /// `[[ … ]]`: words between, operators passed over.
    fn test(&mut self) -> Outcome<Node<'a>> {
        self.at += 2;
        let mut words = Vec::new();
        loop {
            self.skip_newlines()?;
            match self.peek() {
                None => return Err(Problem::Unclosed),
                Some(b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b';') => self.at += 1,
                _ => {
                    if self.at_word(&["]]"]) {
                        self.at += 2;
                        return Ok(Node::Test(words));
                    }
                    let regex = self.at_word(&["=~"]);
                    words.push(self.word()?.ok_or(Problem::Unexpected)?);
                    if regex {
                        self.skip_blanks();
                        words.push(self.regex_word()?);
                    }
                }
            }
        }
    }

    fn simple(&mut self, redirections: &mut Vec<Redirection<'a>>) -> Outcome<Node<'a>> {
        let mut simple = Simple::default();
        let start = self.at;
        loop {
            self.skip_blanks();
            if let Some(redirection) = self.redirection()? {
                redirections.push(redirection);
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') if self.after_equals(&simple) => {
                    // `declare -a x=(…)`
                    self.at += 1;
                    self.array(&mut simple.words)?;
                    continue;
                }
                Some(b'(') => return self.after_paren(simple),
                _ => {}
            }
            if simple.words.is_empty() {
                if let Some(assignment) = self.assignment()? {
                    simple.assignments.push(assignment);
                    continue;
                }
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
    fn assignment(&mut self) -> Outcome<Option<Assignment<'a>>> {
        let start = self.at;
        let mut end = start;
        while self.bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            end += 1;
        }
        if end == start || self.bytes.get(start).is_some_and(u8::is_ascii_digit) {
            return Ok(None);
        }
        let name = self.slice(start, end);
        if self.bytes.get(end) == Some(&b'[') {
            let mut close = end + 1;
            while self.bytes.get(close).is_some_and(|b| !matches!(b, b']' | b' ' | b'\n' | b'=')) {
                close += 1;
            }
            if self.bytes.get(close) != Some(&b']') {
                return Ok(None);
            }
            end = close + 1;
        }
        let append = self.bytes.get(end) == Some(&b'+');
        let equals = end + usize::from(append);
        if self.bytes.get(equals) != Some(&b'=') {
            return Ok(None);
        }
        self.at = equals + 1;
        let mut value = Vec::new();
        if self.peek() == Some(b'(') {
            self.at += 1;
            self.array(&mut value)?;
        } else if let Some(word) = self.word()? {
            value.push(word);
        }
        Ok(Some(Assignment { name, append, value }))
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

    /// A redirection if one begins here.
    fn redirection(&mut self) -> Outcome<Option<Redirection<'a>>> {
        let start = self.at;
        let mut at = start;
        while self.bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at == start && self.peek() == Some(b'{') {
            // `{name}>file`
            let mut end = at + 1;
            while self.bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
                end += 1;
            }
            if end > at + 1
                && self.bytes.get(end) == Some(&b'}')
                && matches!(self.bytes.get(end + 1), Some(b'<' | b'>'))
            {
                at = end + 1;
            }
        }
        let number = self.slice(start, at).parse::<u32>().ok();
        let rest = self.bytes.get(at..).unwrap_or_default();
        let (length, make): (usize, fn(Word<'a>) -> Redirect<'a>) = match rest {
            [b'<', b'(' | b')', ..] | [b'>', b'(', ..] => return Ok(None),
            [b'<', b'<', b'<', ..] => (3, Redirect::Text),
            [b'<', b'<', ..] => {
                self.at = at + 2;
                return self.here_document(number).map(Some);
            }
            [b'<', b'>', ..] => (2, Redirect::Both),
            [b'<', b'&', ..] | [b'>', b'&', ..] => (2, Redirect::Duplicate),
            [b'&', b'>', b'>', ..] if at == start => (3, Redirect::Append),
            [b'&', b'>', ..] if at == start => (2, Redirect::Write),
            [b'>', b'>', ..] => (2, Redirect::Append),
            [b'>', b'|', ..] => (2, Redirect::Write),
            [b'<', ..] => (1, Redirect::Read),
            [b'>', ..] => (1, Redirect::Write),
            _ => return Ok(None),
        };
        self.at = at + length;
        self.skip_blanks();
        let word = self.word()?.ok_or(Problem::Unexpected)?;
        Ok(Some(Redirection { kind: make(word), number }))
    }

    fn here_document(&mut self, number: Option<u32>) -> Outcome<Redirection<'a>> {
        let strip_tabs = self.peek() == Some(b'-');
        if strip_tabs {
            self.at += 1;
        }
        self.skip_blanks();
        let start = self.at;
        let word = self.word()?.ok_or(Problem::Unexpected)?;
        let written = self.slice(start, self.at);
        let quoted = written.contains(['\'', '"', '\\']);
        let mark = super::word::unquoted(&word).unwrap_or(Cow::Borrowed(written));
        let slot = self.bodies.len();
        self.bodies.push(None);
        self.pending.push(Pending { mark, quoted, strip_tabs, slot });
        // The body is not known yet: the slot's number waits in `start` with no text.
        let waiting = Word { parts: Parts::Plain(""), start: slot, end: usize::MAX };
        Ok(Redirection { kind: Redirect::Here(waiting), number })
    }
}

/// Puts here-document bodies where their redirections wait.
fn fill_list<'a>(list: &mut List<'a>, bodies: &mut [Option<Word<'a>>]) {
    if bodies.is_empty() {
        return;
    }
    for stage in list.iter_mut().flat_map(|p| p.stages.iter_mut()) {
        fill_stage(stage, bodies);
    }
}

fn fill_stage<'a>(stage: &mut Stage<'a>, bodies: &mut [Option<Word<'a>>]) {
    for redirection in &mut stage.redirections {
        if let Redirect::Here(word) = &mut redirection.kind {
            if word.end == usize::MAX {
                let body = bodies.get_mut(word.start).and_then(Option::take);
                *word = body.unwrap_or(Word { parts: Parts::Plain(""), start: 0, end: 0 });
                // Bodies may hold commands with here-documents of their own.
                fill_word(word, bodies);
            }
        }
    }
    match &mut stage.node {
        Node::Simple(simple) => {
            for word in simple.words.iter_mut().chain(
                simple.assignments.iter_mut().flat_map(|a| a.value.iter_mut()),
            ) {
                fill_word(word, bodies);
            }
        }
        Node::Group(list) => fill_list(list, bodies),
        Node::For { words, body, .. } => {
            words.iter_mut().for_each(|w| fill_word(w, bodies));
            fill_list(body, bodies);
        }
        Node::Case { word, arms } => {
            fill_word(word, bodies);
            arms.iter_mut().for_each(|list| fill_list(list, bodies));
        }
        Node::Function { body, .. } => fill_stage(body, bodies),
        Node::Test(words) => words.iter_mut().for_each(|w| fill_word(w, bodies)),
    }
}

fn fill_word<'a>(word: &mut Word<'a>, bodies: &mut [Option<Word<'a>>]) {
    use super::ast::{Operation, Part};
    let Parts::Many(parts) = &mut word.parts else { return };
    for part in parts {
        match part {
            Part::Command { list, .. } | Part::Process { list, .. } => fill_list(list, bodies),
            Part::Arithmetic { lists } => lists.iter_mut().for_each(|l| fill_list(l, bodies)),
            Part::Variable { operation, .. } => match operation {
                Operation::Default(w) | Operation::Alternative(w) | Operation::Other(w) => {
                    fill_word(w, bodies);
                }
                Operation::Plain | Operation::Slice(_) => {}
            },
            Part::Bare(_) | Part::Quoted(_) | Part::Backquote { .. } => {}
        }
    }
}
