//! Functions and aliases that a text defines, and the calls of them in progress.

use super::counters::{Counters, Totals};

/// How many functions and aliases are followed.
const MAX_NAMED: usize = 128;

/// A function or alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedText {
    pub name: String,
    pub text: String,
    pub alias: bool,
}

/// The functions and aliases of one call, as text: they hold in texts inside texts as well.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    named: Vec<NamedText>,
    /// Calls in progress.
    depth: u8,
    /// Their names, the innermost last.
    running: Vec<String>,
    counters: Counters,
}

impl Functions {
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// All functions and aliases, the newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &NamedText> {
        self.named.iter().rev()
    }

    /// Adds a function or alias; false where there are too many.
    pub fn add(&mut self, name: &str, text: &str, alias: bool) -> bool {
        let named = NamedText { name: name.to_owned(), text: text.to_owned(), alias };
        if self.named.len() >= MAX_NAMED {
            return false;
        }
        if !self.named.contains(&named) {
            self.named.push(named);
            self.counters.change();
        }
        true
    }

    /// A function got a body in the text being walked.
    pub fn note_body(&mut self) {
        self.counters.edit();
    }

    /// How many calls are in progress.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Whether a call of this function is in progress.
    pub fn is_running(&self, name: &str) -> bool {
        self.running.iter().any(|running| running == name)
    }

    /// A call begins.
    pub fn begin_call(&mut self, name: &str) {
        self.depth += 1;
        self.running.push(name.to_owned());
    }

    /// The newest call ends.
    pub fn end_call(&mut self) {
        self.depth -= 1;
        self.running.pop();
    }

    /// A body is walked as it is defined; returns how deep that is.
    pub fn begin_definition(&mut self) -> u8 {
        self.depth += 1;
        self.depth
    }

    pub fn end_definition(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn totals(&self) -> Totals {
        self.counters.totals()
    }
}
