//! Counters of what happened to one part of the state.
//!
//! The memo and the code that walks a text again compare these numbers to decide whether anything
//! could have changed. Each part of the state keeps its counters private and counts inside the
//! methods that change or read its data, so that no caller can forget to count.

use std::cell::Cell;
use std::ops::Add;

/// How often one part of the state was changed or read.
#[derive(Debug, Default)]
pub(super) struct Counters {
    changes: u32,
    edits: u32,
    reads: Cell<u32>,
}

impl Counters {
    /// Something got another value. That is an edit as well.
    pub fn change(&mut self) {
        self.changes += 1;
        self.edits += 1;
    }

    /// Something can be seen later that could not be seen before.
    pub fn edit(&mut self) {
        self.edits += 1;
    }

    /// Something was read that is not among the words of the command.
    pub fn read(&self) {
        self.reads.set(self.reads.get() + 1);
    }

    pub fn edits(&self) -> u32 {
        self.edits
    }

    /// Everything since then was put back as it was: these edits do not count.
    pub fn forget_edits_since(&mut self, edits: u32) {
        self.edits = edits;
    }

    pub fn totals(&self) -> Totals {
        Totals { changes: self.changes, edits: self.edits, reads: self.reads.get() }
    }
}

/// The counters of several parts added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// How often anything got another value.
    pub changes: u32,
    /// The same, and whatever else can be seen later.
    pub edits: u32,
    /// How often anything beyond the words of a command was read or run.
    pub reads: u32,
}

impl Add for Totals {
    type Output = Totals;

    fn add(self, other: Totals) -> Totals {
        Totals {
            changes: self.changes + other.changes,
            edits: self.edits + other.edits,
            reads: self.reads + other.reads,
        }
    }
}
