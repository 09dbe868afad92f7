//! A word of a command that the reader of another shell took apart.

use std::borrow::Cow;

use super::arg::Arg;
use crate::finding::Span;
use crate::flow::Taint;

/// One word of a command that another shell's reader took apart.
#[derive(Debug, Clone)]
pub(crate) struct CommandWord {
    /// The text; parts that are only known at run time are `UNKNOWN` characters.
    pub text: String,
    /// Its place.
    pub span: Span,
    /// The origin of its unknown parts.
    pub taint: Taint,
    /// Holds a wildcard.
    pub glob: bool,
}

impl CommandWord {
    /// A plain word.
    pub fn new(text: impl Into<String>, span: Span) -> CommandWord {
        CommandWord { text: text.into(), span, taint: Taint::default(), glob: false }
    }

    pub(super) fn from_arg(arg: &Arg<'_>) -> CommandWord {
        CommandWord { text: arg.text.to_string(), span: arg.span, taint: arg.taint, glob: arg.glob }
    }

    pub(super) fn arg(&self) -> Arg<'_> {
        Arg { text: Cow::Borrowed(&self.text), span: self.span, taint: self.taint, glob: self.glob }
    }
}
