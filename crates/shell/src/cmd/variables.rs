//! Variables in cmd text: `%NAME%`, loop variables and arguments.

use super::ast::{CmdVariables, CmdWord};
use super::lexer::Lexer;
use crate::UNKNOWN;

/// How long a variable's name may be.
const MAX_NAME: usize = 128;

impl Lexer<'_> {
    /// `%NAME%`, `%NAME:~0,1%`, `%%i`, `%1`, `!NAME!`.
    pub(super) fn variable(
        &mut self,
        mark: char,
        word: &mut CmdWord,
        variables: &mut impl CmdVariables,
    ) {
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        if mark == '%' && self.loop_variable(rest, word) {
            return;
        }
        let end = rest.bytes().take(MAX_NAME).position(|b| char::from(b) == mark);
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

    /// `%%~dpi` and `%i` are loop variables, `%1` and `%*` arguments. Whether one of them begins
    /// here; `rest` is the text behind the `%`.
    fn loop_variable(&mut self, rest: &str, word: &mut CmdWord) -> bool {
        let doubled = rest.starts_with('%');
        let from = usize::from(doubled);
        let tail = rest.get(from..).unwrap_or_default();
        let named = tail.trim_start_matches('~');
        let letter = named.bytes().next();
        if matches!(letter, Some(b'0'..=b'9' | b'*')) {
            self.at += 1 + from + (tail.len() - named.len()) + 1;
            word.text.push(UNKNOWN);
            return true;
        }
        if tail.starts_with("~dp0") || tail.starts_with("~f0") {
            self.at += 1 + from + tail.find('0').unwrap_or(0) + 1;
            word.text.push('.');
            return true;
        }
        let ends = |b: u8| !b.is_ascii_alphanumeric() && b != b'%' && b != b'_' && b != b':';
        let single = named.as_bytes().get(1).copied().is_none_or(ends);
        let Some(letter) = letter.filter(u8::is_ascii_alphabetic) else { return false };
        if !doubled && !single && !tail.starts_with('~') {
            return false;
        }
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
        true
    }
}
