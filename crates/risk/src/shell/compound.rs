//! Compound commands: `{ }`, `( )`, `if`, `while`, `for`, `case`, functions, `[[ ]]`.

use std::borrow::Cow;

use super::ast::{Node, Runs};
use super::reader::{Outcome, Problem, Reader, Until};

impl<'a> Reader<'a> {
    /// A compound command if one begins here.
    pub(super) fn compound(&mut self) -> Outcome<Option<Node<'a>>> {
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
        Ok(Node::Group(Runs::Apart, list))
    }

    fn block(&mut self, open: &'static str, close: &'static [&'static str]) -> Outcome<Node<'a>> {
        self.at += open.len();
        let list = self.deeper(|r| r.list(Until::Words(close)))?;
        let word = self.raw_word();
        if !close.contains(&word) {
            return Err(Problem::Unexpected);
        }
        self.at += word.len();
        Ok(Node::Group(Runs::Here, list))
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
                    return Ok(Node::Group(Runs::Maybe, all));
                }
                "fi" => {
                    self.at += 2;
                    return Ok(Node::Group(Runs::Maybe, all));
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
        Ok(Node::Group(Runs::Again, all))
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
                Node::Group(_, list) => list,
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
        let mut words = vec![self.word()?.ok_or(Problem::Unexpected)?];
        self.expect_word("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.at_word(&["esac"]) {
                self.at += 4;
                return Ok(Node::Case { words, arms });
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
                    _ => words.push(self.word()?.ok_or(Problem::Unexpected)?),
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

    pub(super) fn function_body(&mut self, name: Cow<'a, str>) -> Outcome<Node<'a>> {
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
}
