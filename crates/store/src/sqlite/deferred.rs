//! Jobs that wait for another job to share its commit, a few per commit.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::job::Work;
use crate::error::{StoreError, StoreResult};

/// The queue of deferred jobs.
#[derive(Default)]
pub(super) struct DeferredJobs {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Work>,
    /// When the first of them needs a commit of its own.
    due: Option<Instant>,
    closed: bool,
}

impl DeferredJobs {
    /// Adds a job that waits at most `max_delay` for a commit, unless many others wait. Fails if
    /// `limit` jobs wait already.
    pub fn push(&self, work: Work, max_delay: Duration, limit: usize) -> StoreResult<()> {
        let mut state = self.lock();
        if state.closed {
            return Err(StoreError::Closed);
        }
        if state.jobs.len() >= limit {
            return Err(StoreError::Overloaded);
        }
        state.jobs.push_back(work);
        let due = Instant::now() + max_delay;
        state.due = Some(state.due.map_or(due, |earlier| earlier.min(due)));
        Ok(())
    }

    /// When the next commit is due.
    pub fn due(&self) -> Option<Instant> {
        self.lock().due
    }

    /// Takes the oldest `max` jobs; the rest is due at once.
    pub fn take(&self, max: usize) -> impl Iterator<Item = Work> {
        let mut state = self.lock();
        let count = max.min(state.jobs.len());
        let taken: Vec<Work> = state.jobs.drain(..count).collect();
        state.due = state.due.filter(|_| !state.jobs.is_empty()).map(|_| Instant::now());
        taken.into_iter()
    }

    /// Drops all jobs, which fails their callers, and rejects new ones.
    pub fn close(&self) {
        let jobs = {
            let mut state = self.lock();
            state.closed = true;
            state.due = None;
            std::mem::take(&mut state.jobs)
        };
        drop(jobs);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for DeferredJobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeferredJobs")
            .field("jobs", &self.lock().jobs.len())
            .finish_non_exhaustive()
    }
}
