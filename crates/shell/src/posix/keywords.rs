//! Reserved words.

use super::parser::{Outcome, Parser, PosixProblem};

impl<'a> Parser<'a> {
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
            Err(PosixProblem::Unclosed)
        } else {
            Err(PosixProblem::Unexpected)
        }
    }
}
