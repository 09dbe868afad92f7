//! A command that text in another language hands to a shell.
//!
//! Code may start a shell, and a shell may run code. So that the two readers do not depend on each
//! other, the reader of code gets a function for nested commands from the dispatcher (`readers`).

use crate::context::Context;
use crate::finding::Findings;

/// What is handed to the shell.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command<'t> {
    /// A line or script.
    Text(&'t str),
    /// A program and its arguments.
    Words(&'t [String]),
}

/// A command inside another text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NestedCommand<'t> {
    pub command: Command<'t>,
    /// Where it starts in its argument.
    pub base: usize,
    /// How many texts it is inside of.
    pub depth: u8,
}

/// Reads a nested command and adds what it would do.
pub(crate) type ReadNested = fn(&NestedCommand<'_>, &Context<'_>, &mut Findings);
