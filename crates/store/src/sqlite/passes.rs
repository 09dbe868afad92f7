//! Passes that ride the next commit, and how many may be on their way.

use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_ledger::entry::Entry;

/// A pass that was answered and is not written yet.
#[derive(Debug)]
pub(super) struct Ride {
    /// As it will stand in the ledger, unless time has gone on since.
    pub text: String,
    /// The same, to be written with a later time.
    pub entry: Entry<'static>,
}

/// What waits for the next commit.
#[derive(Debug, Default)]
pub(super) struct Passes {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rides: Vec<Ride>,
    /// Passes answered, counted since the store was made.
    accepted: u64,
    /// Passes that may be answered: the durable mark, never ahead of it.
    allowed: u64,
    /// Somebody found no place: room is to be reserved.
    wanted: bool,
}

impl Passes {
    /// Nothing is reserved before somebody passes, so that a store that is only looked at leaves
    /// no gap.
    pub fn starting_at(recorded: u64) -> Passes {
        let state =
            State { rides: Vec::new(), accepted: recorded, allowed: recorded, wanted: false };
        Passes { state: Mutex::new(state) }
    }

    /// Takes a pass along and says how many ride now; gives it back if there is no place.
    pub fn board(&self, ride: Ride) -> Result<usize, Box<Ride>> {
        let mut state = self.lock();
        if state.accepted >= state.allowed {
            state.wanted = true;
            return Err(Box::new(ride));
        }
        state.accepted += 1;
        state.rides.push(ride);
        Ok(state.rides.len())
    }

    /// How many ride.
    pub fn len(&self) -> usize {
        self.lock().rides.len()
    }

    /// Takes all that ride. With `last` nobody may board any more.
    pub fn take(&self, last: bool) -> Vec<Ride> {
        let mut state = self.lock();
        if last {
            state.allowed = 0;
        }
        std::mem::take(&mut state.rides)
    }

    /// The commit failed: they were answered, so they wait for the next one, before the others.
    pub fn put_back(&self, mut rides: Vec<Ride>) {
        let mut state = self.lock();
        rides.append(&mut state.rides);
        state.rides = rides;
    }

    /// The mark that the next commit should write: raised when half of the reserve is used.
    pub fn next_mark(&self, reserved: u64, reserve: u32) -> u64 {
        let state = self.lock();
        let left = reserved.saturating_sub(state.accepted);
        if state.wanted && left <= u64::from(reserve / 2) {
            state.accepted.saturating_add(u64::from(reserve))
        } else {
            reserved
        }
    }

    /// The mark is durable.
    pub fn allow(&self, mark: u64) {
        self.lock().allowed = mark;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
