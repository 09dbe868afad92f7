//! Where commands run, and where their text is.

use crate::finding::Span;

/// Where and with which rights commands run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a right or a place of its own")]
pub(crate) struct Rights {
    pub root: bool,
    /// Inside a container or on another host: not this file system.
    pub elsewhere: bool,
    /// On another host.
    pub remote: bool,
    /// With the programs of the project's dependencies.
    pub project: bool,
}

/// Where the text being walked is in its argument.
#[derive(Debug)]
pub(crate) struct Position {
    base: usize,
    fixed: Option<Span>,
}

impl Position {
    /// A text that starts at `base` of its argument.
    pub(super) fn new(base: usize) -> Position {
        Position { base, fixed: None }
    }

    /// A place in the text being walked.
    pub fn span(&self, start: usize, end: usize) -> Span {
        self.fixed.unwrap_or_else(|| Span::new(self.base + start, self.base + end))
    }

    /// The one place that all findings fall on while a text inside a word is read.
    pub fn fixed(&self) -> Option<Span> {
        self.fixed
    }

    /// All findings fall on this place until the returned one is put back.
    pub fn pin(&mut self, span: Option<Span>) -> Option<Span> {
        std::mem::replace(&mut self.fixed, span)
    }
}
