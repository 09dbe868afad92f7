//! How many callers without a token wait at once: they share one name, so they share one part of
//! the agents' connections.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;

use super::ApiProblem;

/// The part of the agents' connections on which callers without a token may wait.
const PART: usize = 4;
/// What is assumed until the number of connections is known.
const USUAL: usize = 64;
/// When a retry is useful, in seconds.
const RETRY_SECONDS: u32 = 10;

/// The waiting callers without a token.
#[derive(Debug)]
pub struct TokenlessWaits {
    waiting: AtomicUsize,
    most: AtomicUsize,
}

/// One waiting caller, until this is dropped.
#[derive(Debug)]
pub(super) struct TokenlessWait<'a>(&'a TokenlessWaits);

impl Default for TokenlessWaits {
    fn default() -> TokenlessWaits {
        TokenlessWaits { waiting: AtomicUsize::new(0), most: AtomicUsize::new(USUAL) }
    }
}

impl TokenlessWaits {
    /// Divides so many connections of agents.
    pub fn divide(&self, connections: usize) {
        self.most.store((connections / PART).max(1), Ordering::Relaxed);
    }

    /// How many wait.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// A caller begins to wait. One too many is rejected; its question stays.
    pub(super) fn begin(&self) -> Result<TokenlessWait<'_>, ApiProblem> {
        let wait = TokenlessWait(self);
        if self.waiting.fetch_add(1, Ordering::AcqRel) < self.most.load(Ordering::Relaxed) {
            return Ok(wait);
        }
        Err(ApiProblem {
            retry_after: Some(RETRY_SECONDS),
            ..ApiProblem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-waiting",
                "Too many callers wait",
                "too many callers without a token wait for an answer; use a token, or ask again \
                 later: the question stays until its deadline",
            )
            .with_outcome("denied")
        })
    }
}

impl Drop for TokenlessWait<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}
