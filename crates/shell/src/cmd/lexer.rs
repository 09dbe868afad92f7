//! cmd text → one command after the other: quotes, carets, variables, redirections, separators.

use crate::UNKNOWN;

/// How many words a command may have.
const MAX_WORDS: usize = 512;
/// How long a variable's name may be.
const MAX_NAME: usize = 128;

/// One word of a command.
#[derive(Debug, Clone, Default)]
pub struct CmdWord {
    /// Its text without the quotes around it.
    pub text: String,
    /// The letters of loop variables, which it holds as `\u{2}x`.
    pub loops: bool,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// How a command hangs together with the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Separator {
    /// `&`, `&&`, `||`, a parenthesis or a new line.
    #[default]
    Next,
    /// `|`: its output flows on.
    Pipe,
}

/// One command as it is written.
#[derive(Debug, Default)]
pub struct CmdCommand {
    /// The program and its arguments.
    pub words: Vec<CmdWord>,
    /// Files of `>`, `>>`, `2>` with whether they are added to, and whether output goes there.
    pub writes: Vec<(CmdWord, bool, bool)>,
    /// Files of `<`.
    pub reads: Vec<CmdWord>,
    /// What follows it.
    pub separator: Separator,
    /// Where it begins.
    pub start: usize,
    /// One past its end.
    pub end: usize,
}

/// Looks variables up while the text is read.
pub trait CmdVariables {
    /// The value of `%NAME%`; none if it is only known at run time.
    fn value(&mut self, name: &str) -> Option<String>;
    /// Something could not be read.
    fn not_read(&mut self, at: usize);
}

/// Where the reader is.
pub struct Lexer<'t> {
    text: &'t str,
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
            match c {
                ' ' | '\t' | ',' | ';' | '=' if c != '=' || command.words.is_empty() => {
                    self.at += 1;
                }
                '\r' | '\n' => {
                    command.end = self.at;
                    self.at += 1;
                    if !command.words.is_empty() {
                        return Some(command);
                    }
                    command.start = self.at;
                }
                '&' | '|' => {
                    command.end = self.at;
                    let double = self.rest().chars().nth(1) == Some(c);
                    self.at += 1 + usize::from(double);
                    if !double && c == '|' {
                        command.separator = Separator::Pipe;
                    }
                    if !command.words.is_empty() {
                        return Some(command);
                    }
                    command.start = self.at;
                }
                '(' if opens_group(&command) => {
                    self.open += 1;
                    command.end = self.at;
                    self.at += 1;
                    if !command.words.is_empty() {
                        return Some(command);
                    }
                    command.start = self.at;
                }
                ')' if self.open > 0 => {
                    self.open -= 1;
                    command.end = self.at;
                    self.at += 1;
                    if !command.words.is_empty() {
                        return Some(command);
                    }
                    command.start = self.at;
                }
                '<' => {
                    self.at += 1;
                    self.blanks();
                    let word = self.word(variables);
                    command.reads.push(word);
                }
                '>' => self.write(&mut command, true, variables),
                '0'..='9' if self.byte(1) == Some(b'>') => {
                    self.at += 1;
                    self.write(&mut command, c == '1', variables);
                }
                _ => self.next_word(c, &mut command, variables),
            }
        }
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

    /// `%NAME%`, `%NAME:~0,1%`, `%%i`, `%1`, `!NAME!`.
    fn variable(&mut self, mark: char, word: &mut CmdWord, variables: &mut impl CmdVariables) {
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let bytes = rest.as_bytes();
        if mark == '%' {
            // `%%~dpi` and `%i` are loop variables, `%1` and `%*` arguments.
            let doubled = bytes.first() == Some(&b'%');
            let from = usize::from(doubled);
            let tail = rest.get(from..).unwrap_or_default();
            let named = tail.trim_start_matches('~');
            let letter = named.bytes().next();
            let single =
                named.as_bytes().get(1).copied().is_none_or(|b| {
                    !b.is_ascii_alphanumeric() && b != b'%' && b != b'_' && b != b':'
                });
            if matches!(letter, Some(b'0'..=b'9' | b'*')) {
                self.at += 1 + from + (tail.len() - named.len()) + 1;
                word.text.push(UNKNOWN);
                return;
            }
            if tail.starts_with("~dp0") || tail.starts_with("~f0") {
                self.at += 1 + from + tail.find('0').unwrap_or(0) + 1;
                word.text.push('.');
                return;
            }
            if let Some(letter) = letter.filter(u8::is_ascii_alphabetic)
                && (doubled || single || tail.starts_with('~'))
            {
                // `~dpn` are modifiers before the letter.
                let modifiers = if tail.starts_with('~') {
                    named.bytes().take_while(u8::is_ascii_alphabetic).count().saturating_sub(1)
                } else {
                    0
                };
                let letter = named.as_bytes().get(modifiers).copied().unwrap_or(letter);
                self.at += 1 + from + (tail.len() - named.len()) + modifiers + 1;
                word.loops = true;
                word.text.push('\u{2}');
                word.text.push(char::from(letter));
                return;
            }
        }
        let end = bytes.iter().take(MAX_NAME).position(|b| char::from(*b) == mark);
        let name = end
            .and_then(|end| rest.get(..end))
            .filter(|n| !n.is_empty() && !n.contains(['\n', ' ', '"', '&', '|', '<', '>']));
        let Some(name) = name else {
            word.text.push(mark);
            self.at += 1;
            return;
        };
        self.at += name.len() + 2;
        // `%NAME:~0,1%` and `%NAME:a=b%` take pieces: which ones is not followed.
        if name.contains(':') {
            word.text.push(UNKNOWN);
            return;
        }
        match variables.value(name) {
            Some(value) if !value.contains(['&', '|', '<', '>', '^', '(', ')']) => {
                word.text.push_str(&value);
            }
            Some(_) => {
                variables.not_read(self.at);
                word.text.push(UNKNOWN);
            }
            None => word.text.push(UNKNOWN),
        }
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
