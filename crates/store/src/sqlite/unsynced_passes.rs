//! Passes that returned before their commit, and the limit on their number.

use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_ledger::entry::Entry;

/// A pass that has returned and is not committed yet.
#[derive(Debug)]
pub(super) struct UnsyncedPass {
    /// The encoded entry, valid unless a later entry is committed before it.
    pub text: String,
    /// The entry, to be encoded again with a later time.
    pub entry: Entry<'static>,
}

/// The passes that wait for the next commit.
#[derive(Debug, Default)]
pub(super) struct UnsyncedPasses {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    passes: Vec<UnsyncedPass>,
    /// The number of passes since the store was created.
    accepted: u64,
    /// The number of passes that may have returned: never more than the durable mark.
    allowed: u64,
    /// A pass was rejected: the next commit must raise the mark.
    mark_wanted: bool,
}

impl UnsyncedPasses {
    /// Nothing is reserved before the first pass, so that a store that is only read leaves no gap.
    pub fn starting_at(recorded: u64) -> UnsyncedPasses {
        let state =
            State { passes: Vec::new(), accepted: recorded, allowed: recorded, mark_wanted: false };
        UnsyncedPasses { state: Mutex::new(state) }
    }

    /// Adds a pass and returns the number of unsynced ones; returns the pass if the mark is
    /// reached.
    pub fn try_push(&self, pass: UnsyncedPass) -> Result<usize, Box<UnsyncedPass>> {
        let mut state = self.lock();
        if state.accepted >= state.allowed {
            state.mark_wanted = true;
            return Err(Box::new(pass));
        }
        state.accepted += 1;
        state.passes.push(pass);
        Ok(state.passes.len())
    }

    /// The number of unsynced passes.
    pub fn len(&self) -> usize {
        self.lock().passes.len()
    }

    /// Takes all passes. With `last`, no more are accepted.
    pub fn take(&self, last: bool) -> Vec<UnsyncedPass> {
        let mut state = self.lock();
        if last {
            state.allowed = 0;
        }
        std::mem::take(&mut state.passes)
    }

    /// Puts passes back after a failed commit, before the newer ones: they have returned already.
    pub fn put_back(&self, mut passes: Vec<UnsyncedPass>) {
        let mut state = self.lock();
        passes.append(&mut state.passes);
        state.passes = passes;
    }

    /// The mark that the next commit writes: raised when half of the reserve is used.
    pub fn next_mark(&self, reserved: u64, reserve: u32) -> u64 {
        let state = self.lock();
        let left = reserved.saturating_sub(state.accepted);
        if state.mark_wanted && left <= u64::from(reserve / 2) {
            state.accepted.saturating_add(u64::from(reserve))
        } else {
            reserved
        }
    }

    /// Allows passes up to a mark that is durable now.
    pub fn allow(&self, mark: u64) {
        self.lock().allowed = mark;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
