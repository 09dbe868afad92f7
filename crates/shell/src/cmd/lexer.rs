//! cmd text → one command after the other: quotes, carets, variables, redirections, separators.

use super::ast::{CmdCommand, CmdVariables, CmdWord, Separator};

/// How many words a command may have.
const MAX_WORDS: usize = 512;
/// Where the reader is.
pub struct Lexer<'t> {
    pub(super) text: &'t str,
    /// The next byte to read.
    pub at: usize,
    open: u32,
}

impl<'t> Lexer<'t> {
    /// A lexer at the start of a text.
    pub fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0, open: 0 }
    }

    fn char(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|r| r.chars().next())
    }

    fn byte(&self, offset: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + offset).copied()
    }

    /// The text from here on.
    pub fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next command; none at the end of the text.
    pub fn next(&mut self, variables: &mut impl CmdVariables) -> Option<CmdCommand> {
        let mut command = CmdCommand { start: self.at, ..CmdCommand::default() };
        loop {
            let Some(c) = self.char() else {
                command.end = self.at;
                return (!command.words.is_empty() || !command.writes.is_empty())
                    .then_some(command);
            };
            let ended = match c {
                ' ' | '\t' | ',' | ';' | '=' if c != '=' || command.words.is_empty() => {
                    self.at += 1;
                    false
                }
                '\r' | '\n' => self.ends(&mut command, 1),
                '&' | '|' => {
                    let double = self.rest().chars().nth(1) == Some(c);
                    if !double && c == '|' {
                        command.separator = Separator::Pipe;
                    }
                    self.ends(&mut command, 1 + usize::from(double))
                }
                '(' if opens_group(&command) => {
                    self.open += 1;
                    self.ends(&mut command, 1)
                }
                ')' if self.open > 0 => {
                    self.open -= 1;
                    self.ends(&mut command, 1)
                }
                _ => {
                    self.redirection_or_word(c, &mut command, variables);
                    false
                }
            };
            if ended {
                return Some(command);
            }
        }
    }

    fn redirection_or_word(
        &mut self,
        c: char,
        command: &mut CmdCommand,
        variables: &mut impl CmdVariables,
    ) {
        match c {
            '<' => {
                self.at += 1;
                self.blanks();
                let word = self.word(variables);
                command.reads.push(word);
            }
            '>' => self.write(command, true, variables),
            '0'..='9' if self.byte(1) == Some(b'>') => {
                self.at += 1;
                self.write(command, c == '1', variables);
            }
            _ => self.next_word(c, command, variables),
        }
    }

    /// Passes over a separator. Whether a command ends before it; otherwise one begins behind it.
    fn ends(&mut self, command: &mut CmdCommand, length: usize) -> bool {
        command.end = self.at;
        self.at += length;
        if command.words.is_empty() {
            command.start = self.at;
        }
        !command.words.is_empty()
    }

    /// One more word of a command; remarks are left out.
    fn next_word(&mut self, c: char, command: &mut CmdCommand, variables: &mut impl CmdVariables) {
        if command.words.is_empty() {
            command.start = self.at;
            if self.rest().starts_with("::") {
                self.skip_line();
                return;
            }
        }
        let before = self.at;
        let word = self.word(variables);
        if self.at == before {
            self.at += c.len_utf8();
        }
        if command.words.len() >= MAX_WORDS {
            variables.not_read(self.at);
            self.at = self.text.len();
            return;
        }
        let remark = command.words.is_empty()
            && word.text.trim_start_matches('@').eq_ignore_ascii_case("rem");
        if remark {
            self.skip_line();
            return;
        }
        command.words.push(word);
        // The set of a loop is one word, whatever is in it.
        if is_loop(command) {
            self.takes_set(command);
        }
    }

    fn blanks(&mut self) {
        while matches!(self.byte(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn write(&mut self, command: &mut CmdCommand, output: bool, variables: &mut impl CmdVariables) {
        self.at += 1;
        let append = self.byte(0) == Some(b'>');
        self.at += usize::from(append);
        if self.byte(0) == Some(b'&') {
            // `2>&1`
            self.at += 1;
            while self.byte(0).is_some_and(|b| b.is_ascii_digit()) {
                self.at += 1;
            }
            return;
        }
        self.blanks();
        let word = self.word(variables);
        command.writes.push((word, append, output));
    }

    /// `in ( … )` of a loop.
    fn takes_set(&mut self, command: &mut CmdCommand) {
        let last = command.words.last().is_some_and(|w| w.text.eq_ignore_ascii_case("in"));
        if !last {
            return;
        }
        self.blanks();
        if self.byte(0) != Some(b'(') {
            return;
        }
        let start = self.at + 1;
        let mut quote = None;
        let mut end = self.text.len();
        for (i, b) in self.rest().bytes().enumerate().skip(1) {
            match (quote, b) {
                (Some(q), b) if q == b => quote = None,
                (None, b'"' | b'\'' | b'`') => quote = Some(b),
                (None, b')') => {
                    end = self.at + i;
                    break;
                }
                _ => {}
            }
        }
        let text = self.text.get(start..end).unwrap_or_default().to_owned();
        command.words.push(CmdWord { text, loops: false, start, end });
        self.at = (end + 1).min(self.text.len());
    }

    /// One word with its variables put in.
    fn word(&mut self, variables: &mut impl CmdVariables) -> CmdWord {
        let mut word = CmdWord { start: self.at, ..CmdWord::default() };
        let mut quoted = false;
        while let Some(c) = self.char() {
            match c {
                '"' => {
                    quoted = !quoted;
                    self.at += 1;
                    // Quotes inside a word stay: another shell may be given them.
                    word.text.push('"');
                }
                '^' if !quoted => {
                    self.at += 1;
                    match self.char() {
                        Some('\r') => self.at += 1 + usize::from(self.byte(1) == Some(b'\n')),
                        Some('\n') => self.at += 1,
                        Some(next) => {
                            word.text.push(next);
                            self.at += next.len_utf8();
                        }
                        None => {}
                    }
                }
                '%' | '!' => self.variable(c, &mut word, variables),
                '\r' | '\n' => break,
                ' ' | '\t' | '&' | '|' | '<' | '>' if !quoted => break,
                ',' | ';' if !quoted && !word.text.is_empty() => break,
                ')' if !quoted && self.open > 0 => break,
                _ => {
                    word.text.push(c);
                    self.at += c.len_utf8();
                }
            }
            if word.text.len() > crate::MAX_BYTES {
                variables.not_read(self.at);
                self.at = self.text.len();
            }
        }
        word.end = self.at;
        let whole = word.text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
        if let Some(inner) = whole.filter(|t| !t.contains('"')) {
            word.text = inner.to_owned();
        } else if word.text.matches('"').count() % 2 == 1 {
            word.text = word.text.replacen('"', "", 1);
        }
        word
    }
}

/// Whether `(` here opens a group: at the start, or behind `if …`, `else` and `do`.
fn opens_group(command: &CmdCommand) -> bool {
    let Some(first) = command.words.first() else { return true };
    let last = command.words.last().map(|w| w.text.to_ascii_lowercase()).unwrap_or_default();
    matches!(first.text.trim_start_matches('@').to_ascii_lowercase().as_str(), "if" | "else")
        || matches!(last.as_str(), "else" | "do")
}

fn is_loop(command: &CmdCommand) -> bool {
    command
        .words
        .first()
        .is_some_and(|w| w.text.trim_start_matches('@').eq_ignore_ascii_case("for"))
}
