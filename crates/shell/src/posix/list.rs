//! Lists of pipelines, with what joins them.

use super::ast::{Join, List, Node, Pipeline, Simple, Stage};
use super::heredoc::fill_list;
use super::parser::{CLOSING, Outcome, Parser, PosixProblem, Until};

impl<'a> Parser<'a> {
    pub(super) fn list(&mut self, until: Until) -> Outcome<List<'a>> {
        let mut list = Vec::new();
        self.list_into(&mut list, until)?;
        Ok(list)
    }

    /// Reads pipelines into `list`, so that what was understood survives a problem further on.
    pub(super) fn list_into(&mut self, list: &mut List<'a>, until: Until) -> Outcome<()> {
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

    fn list_items(&mut self, list: &mut List<'a>, until: Until) -> Outcome<()> {
        loop {
            self.skip_newlines()?;
            match self.peek() {
                None if until == Until::End => return Ok(()),
                None => return Err(PosixProblem::Unclosed),
                Some(b')') if until == Until::Paren => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b')') => {
                    return if until == Until::End {
                        Err(PosixProblem::Unexpected)
                    } else {
                        Ok(())
                    };
                }
                Some(b';') if self.peek_at(1) == Some(b';') || self.peek_at(1) == Some(b'&') => {
                    return if matches!(until, Until::Words(_)) {
                        Ok(())
                    } else {
                        Err(PosixProblem::Unexpected)
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
                return Err(PosixProblem::Unexpected);
            }
            self.and_or(list)?;
            // A `;` may not follow `&`, and a word may not follow a closed block.
            let after = self.at;
            self.skip_blanks();
            let ended = self.bytes.get(after.saturating_sub(1)) == Some(&b'&');
            match self.peek() {
                Some(b';') if ended => return Err(PosixProblem::Unexpected),
                None | Some(b'\n' | b';' | b')' | b'&' | b'|' | b'(') => {}
                _ if ended || self.at_word(CLOSING) => {}
                _ => return Err(PosixProblem::Unexpected),
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
            self.expect_command()?;
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
            self.expect_command()?;
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
            self.expect_command()?;
        }
    }

    /// Behind `&&`, `|` or `!` a word that closes a block is no command.
    fn expect_command(&self) -> Outcome<()> {
        if self.at_word(CLOSING) { Err(PosixProblem::Unexpected) } else { Ok(()) }
    }
}
