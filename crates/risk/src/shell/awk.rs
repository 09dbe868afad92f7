//! awk programs: only what leaves the text they work on.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::evaluator::Evaluator;
use super::redirects::is_socket;
use crate::command_tables::ArgumentUse;
use crate::finding::Span;
use crate::flow::Flow;
use crate::structural_findings;

/// A token of awk.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token<'a> {
    Text(String),
    Regex,
    Word(&'a str),
    /// An operator or bracket; of `||`, `&&`, `==` and the like the first byte, doubled.
    Mark(u8, bool),
    /// `;` or a new line.
    End,
}

use Token::{End, Mark, Regex, Text, Word};

const PIPE: Token<'_> = Mark(b'|', false);

/// `system(…)`, `… | getline`, `print | …`, `print > "…"`, `getline < "…"`, `/inet/`.
pub(super) fn read(walker: &mut Evaluator<'_, '_, '_, '_>, program: &str, span: Span) {
    if program.contains("/inet/") {
        walker.shared.report(&structural_findings::REVERSE_SHELL, Some(span));
    }
    let tokens = tokens(program);
    let program = Program { tokens: &tokens, known: RefCell::default() };
    for (at, token) in tokens.iter().enumerate() {
        let rest = tokens.get(at + 1..).unwrap_or_default();
        match token {
            // gawk: `@name(…)` calls the function that the variable names.
            Word(name) if rest.first() == Some(&Mark(b'(', false)) => {
                let before = at.checked_sub(1).and_then(|i| tokens.get(i));
                if *name == "system" || before == Some(&Mark(b'@', false)) {
                    run(walker, &program, inside_parens(rest), span);
                }
            }
            Mark(b'|', false) => {
                let fed = rest.strip_prefix(&[Mark(b'&', false)]).unwrap_or(rest);
                if fed.first() == Some(&Word("getline")) {
                    run(walker, &program, operand_before(tokens.get(..at)), span);
                } else {
                    run(walker, &program, up_to_end(fed), span);
                }
            }
            Mark(b'>', twice) if prints(tokens.get(..at)) => {
                for path in program.texts(up_to_end(rest)) {
                    write(walker, &path.replace("$_", "\0"), *twice, span);
                }
            }
            Mark(b'<', false) if reads_line(tokens.get(..at)) => {
                if let Some(Text(path)) = rest.first() {
                    walker.touch_text(ArgumentUse::Read, path, span);
                }
            }
            _ => {}
        }
    }
}

/// Reads the command that an expression makes.
fn run(
    walker: &mut Evaluator<'_, '_, '_, '_>,
    program: &Program<'_>,
    expression: &[Token<'_>],
    span: Span,
) {
    for command in program.texts(expression) {
        if command.starts_with("$_") || command.is_empty() {
            walker.shared.report(&structural_findings::UNSEEN_CODE, Some(span));
        }
        walker.inside(&command, span, &Flow::none());
    }
}

pub(super) fn write(walker: &mut Evaluator<'_, '_, '_, '_>, path: &str, append: bool, span: Span) {
    if is_socket(path) {
        walker.shared.report(&structural_findings::RAW_SOCKET, Some(span));
        return;
    }
    walker.touch_text(if append { ArgumentUse::Append } else { ArgumentUse::Write }, path, span);
}

struct Program<'p> {
    tokens: &'p [Token<'p>],
    /// Values of variables that were asked for.
    known: RefCell<BTreeMap<String, Vec<String>>>,
}

impl Program<'_> {
    /// The texts an expression may make: pieces side by side, `$_` where one is not known.
    fn texts(&self, expression: &[Token<'_>]) -> Vec<String> {
        let mut texts = vec![String::new()];
        for token in expression {
            let pieces = match token {
                Text(text) => vec![text.clone()],
                Word(name) if name.bytes().all(|b| b.is_ascii_digit()) => vec![(*name).to_owned()],
                Word(name) => self.known_values(name),
                Mark(b'(' | b')', false) => continue,
                _ => vec!["$_".to_owned()],
            };
            texts = texts
                .iter()
                .flat_map(|text| pieces.iter().map(move |piece| format!("{text}{piece}")))
                .collect();
            if texts.len() > 16 {
                // Too many to be tried: which of them is not known.
                return vec!["$_".to_owned()];
            }
        }
        texts
    }

    fn known_values(&self, name: &str) -> Vec<String> {
        let known = self.known.borrow().get(name).cloned();
        known.unwrap_or_else(|| {
            let values = self.values(name);
            self.known.borrow_mut().insert(name.to_owned(), values.clone());
            values
        })
    }

    /// What a variable may hold: every text it is set to, and `$_` where it may be another.
    fn values(&self, name: &str) -> Vec<String> {
        let mut values = Vec::new();
        let mut open = false;
        for (at, token) in self.tokens.iter().enumerate() {
            if *token != Word(name) {
                continue;
            }
            let before = at.checked_sub(1).and_then(|i| self.tokens.get(i));
            match self.tokens.get(at + 1..).unwrap_or_default() {
                [Mark(b'=', false), Text(text), End | Mark(b'}' | b')', false), ..]
                | [Mark(b'=', false), Text(text)] => values.push(text.clone()),
                [Mark(b'=', false) | Mark(b'+' | b'-' | b'[', _), ..] => open = true,
                // Handed to `sub`, `split` and the like, or filled by `getline`.
                [Mark(b')' | b',', false), ..] => {
                    open |= matches!(before, Some(Mark(b',', false)));
                }
                _ => {}
            }
            open |= matches!(before, Some(Word("getline" | "in")));
        }
        // A bound on what is tried: what is more is not known.
        if open || values.is_empty() || values.len() > 4 {
            values.truncate(4);
            values.push("$_".to_owned());
        }
        values
    }
}

/// The tokens between the bracket that stands first and the one that closes it.
fn inside_parens<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Mark(b'(', false) => open += 1,
            Mark(b')', false) => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            return tokens.get(1..at).unwrap_or_default();
        }
    }
    tokens.get(1..).unwrap_or_default()
}

/// The expression that ends where the slice does.
fn operand_before<'t, 'a>(tokens: Option<&'t [Token<'a>]>) -> &'t [Token<'a>] {
    let tokens = tokens.unwrap_or_default();
    let mut closed = 0_usize;
    for (at, token) in tokens.iter().enumerate().rev() {
        match token {
            Mark(b')', false) => closed += 1,
            Mark(b'(', false) if closed > 0 => closed -= 1,
            End | Mark(b'{' | b'}' | b'(' | b'!' | b',', _) | Mark(_, true) if closed == 0 => {
                return tokens.get(at + 1..).unwrap_or_default();
            }
            _ => {}
        }
    }
    tokens
}

fn up_to_end<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let ends = |t: &Token<'_>| *t == End || *t == Mark(b'}', false) || *t == PIPE;
    let end = tokens.iter().position(ends).unwrap_or(tokens.len());
    tokens.get(..end).unwrap_or_default()
}

/// Whether the statement before this place is a `print` whose brackets are closed.
fn prints(tokens: Option<&[Token<'_>]>) -> bool {
    let tokens = tokens.unwrap_or_default();
    let begins = |t: &Token<'_>| matches!(t, End | Mark(b'{' | b'}', false));
    let from = tokens.iter().rposition(begins).map_or(0, |at| at + 1);
    let statement = tokens.get(from..).unwrap_or_default();
    let count = |bracket| statement.iter().filter(|t| **t == Mark(bracket, false)).count();
    statement.iter().any(|t| matches!(t, Word("print" | "printf"))) && count(b'(') <= count(b')')
}

fn reads_line(tokens: Option<&[Token<'_>]>) -> bool {
    let mut last = tokens.unwrap_or_default().iter().rev();
    matches!(last.next(), Some(Word("getline"))) || matches!(last.next(), Some(Word("getline")))
}

fn tokens(program: &str) -> Vec<Token<'_>> {
    let bytes = program.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        let start = at;
        at += 1;
        match b {
            b'"' => {
                at = closed(bytes, at, b'"', true);
                let literal = program.get(start + 1..at).unwrap_or_default();
                tokens.push(Text(countersign_shell::posix::decode_escapes(literal, false)));
                at += 1;
            }
            b'/' if begins_regex(tokens.last()) => {
                at = closed(bytes, at, b'/', false) + 1;
                tokens.push(Regex);
            }
            b'#' => {
                while bytes.get(at).is_some_and(|b| *b != b'\n') {
                    at += 1;
                }
            }
            b'\\' if matches!(bytes.get(at), Some(b'\n' | b'\r')) => at += 1,
            b'\n' | b';' => tokens.push(End),
            b' ' | b'\t' | b'\r' => {}
            _ if b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80 => {
                let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80;
                while bytes.get(at).is_some_and(word) {
                    at += 1;
                }
                tokens.push(Word(program.get(start..at).unwrap_or_default()));
            }
            _ => {
                let next = bytes.get(at).copied();
                let twice = next == Some(b) && matches!(b, b'|' | b'&' | b'=' | b'>' | b'+' | b'-');
                let compares = next == Some(b'=') && matches!(b, b'=' | b'!' | b'<' | b'>');
                at += usize::from(twice || compares);
                tokens.push(Mark(b, (twice && b != b'>') || compares));
                if twice && b == b'>' {
                    tokens.pop();
                    tokens.push(Mark(b'>', true));
                }
            }
        }
    }
    tokens
}

/// Where a string or regular expression ends.
fn closed(bytes: &[u8], mut at: usize, close: u8, lines: bool) -> usize {
    while let Some(&b) = bytes.get(at) {
        match b {
            b'\\' => at += 1,
            b'\n' if !lines => return at,
            _ if b == close => return at,
            _ => {}
        }
        at += 1;
    }
    at.min(bytes.len())
}

/// Behind a value `/` divides.
fn begins_regex(before: Option<&Token<'_>>) -> bool {
    match before {
        None | Some(End) => true,
        Some(Mark(mark, _)) => !matches!(mark, b')' | b']' | b'$'),
        Some(Word(word)) => matches!(*word, "print" | "return" | "in" | "case"),
        Some(Text(_) | Regex) => false,
    }
}
