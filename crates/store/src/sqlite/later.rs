//! Jobs that let others go first: they share commits that are made anyway, a few in each.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::writer::Work;
use crate::StoreResult;
use crate::error::StoreError;

/// What waits until others went first.
#[derive(Default)]
pub(super) struct Later {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Work>,
    /// When the first of them wants a commit, even if nobody else does.
    due: Option<Instant>,
    over: bool,
}

impl Later {
    /// Lets a job wait, at most so long unless many others do; refuses one more than `most`.
    pub fn push(&self, work: Work, patience: Duration, most: usize) -> StoreResult<()> {
        let mut state = self.lock();
        if state.over {
            return Err(StoreError::Closed);
        }
        if state.jobs.len() >= most {
            return Err(StoreError::Overloaded);
        }
        state.jobs.push_back(work);
        let due = Instant::now() + patience;
        state.due = Some(state.due.map_or(due, |earlier| earlier.min(due)));
        Ok(())
    }

    /// When a commit is wanted.
    pub fn due(&self) -> Option<Instant> {
        self.lock().due
    }

    /// Takes the oldest, at most so many; what is left is due at once.
    pub fn take(&self, most: usize) -> impl Iterator<Item = Work> {
        let mut state = self.lock();
        let many = most.min(state.jobs.len());
        let taken: Vec<Work> = state.jobs.drain(..many).collect();
        state.due = state.due.filter(|_| !state.jobs.is_empty()).map(|_| Instant::now());
        taken.into_iter()
    }

    /// Nothing is done any more: whoever waits is told so.
    pub fn give_up(&self) {
        let jobs = {
            let mut state = self.lock();
            state.over = true;
            state.due = None;
            std::mem::take(&mut state.jobs)
        };
        drop(jobs);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Later").field("jobs", &self.lock().jobs.len()).finish_non_exhaustive()
    }
}
