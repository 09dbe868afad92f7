//! A word of a command after expansion.

use std::borrow::Cow;

use crate::finding::Span;
use crate::flow::Taint;

/// A word after expansion. Parts that are only known at run time are `UNKNOWN` characters.
#[derive(Debug, Clone)]
pub struct Arg<'t> {
    /// The text.
    pub text: Cow<'t, str>,
    /// Where it stands.
    pub span: Span,
    /// Where its unknown parts come from.
    pub taint: Taint,
    /// Holds an unquoted `*`, `?` or `[`.
    pub glob: bool,
}

impl<'t> Arg<'t> {
    /// A word that stands for itself.
    pub fn plain(text: &'t str, span: Span) -> Arg<'t> {
        Arg { text: Cow::Borrowed(text), span, taint: Taint::default(), glob: false }
    }
}

impl Arg<'_> {
    /// Whether some of it is only known at run time.
    pub fn is_unknown(&self) -> bool {
        self.text.as_bytes().contains(&0)
    }

    /// Whether it is a path with a folder in it.
    pub fn has_slash(&self) -> bool {
        self.text.as_bytes().contains(&b'/')
    }
}
