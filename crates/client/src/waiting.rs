//! The loop that waits for a decision: it survives lost connections and restarts of the daemon, and
//! ends at its time limit.

use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::outcome::Outcome;
use crate::request::RequestRecord;

/// How long to try a daemon that was never reached: it may not be running, and the caller should
/// know soon.
const FIRST_CONTACT: Duration = Duration::from_secs(2);
/// How long one poll waits at the daemon; short, so that a lost connection is noticed soon.
const POLL: u64 = 20;
const SHORTEST_POLL: Duration = Duration::from_secs(1);
/// The first and the longest pause before a retry.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long to wait for a decision.
#[derive(Debug, Clone, Copy)]
pub struct WaitLimits {
    /// When to stop waiting.
    pub end: Instant,
    /// How long a daemon that responded before may be unreachable; by default until `end`.
    pub gone: Option<Duration>,
}

/// The result of waiting.
#[derive(Debug)]
pub enum WaitResult {
    /// The request ended.
    Ended(Outcome),
    /// The request can still be answered, but the time limit has passed.
    Pending {
        /// Its last known state.
        request: Box<RequestRecord>,
        /// Why the daemon was unreachable, if that is the reason.
        lost: Option<Error>,
    },
}

/// Submits a call with `submit` until it arrives, and waits until the request has ended. `poll`
/// gets the request by its id and waits at most the given seconds. Before each poll, `goes_on`
/// receives the request (once there is one) and returns whether to continue.
pub fn wait_until(
    limits: WaitLimits,
    mut submit: impl FnMut() -> Result<RequestRecord, Error>,
    mut poll: impl FnMut(&str, u64) -> Result<RequestRecord, Error>,
    mut goes_on: impl FnMut(Option<&RequestRecord>) -> bool,
) -> Result<WaitResult, Error> {
    let mut retries = Retries::new(limits);
    let mut open = loop {
        match retries.after(submit()) {
            Ok(found) => break found,
            Err(Some(error)) => return Err(error),
            Err(None) if !goes_on(None) => {
                return Err(Error::Unexpected("the caller stopped waiting".to_owned()));
            }
            Err(None) => {}
        }
    };
    loop {
        if let Some(outcome) = Outcome::of(open.clone())? {
            return Ok(WaitResult::Ended(outcome));
        }
        let left = limits.end.saturating_duration_since(Instant::now());
        // A poll takes at least a second and must not exceed the end.
        if left < SHORTEST_POLL || !goes_on(Some(&open)) {
            return Ok(WaitResult::Pending { request: Box::new(open), lost: None });
        }
        // By its id, which stays valid after a lost connection or a restart.
        let id = open
            .id
            .clone()
            .ok_or_else(|| Error::Unexpected("a pending request has no id".to_owned()))?;
        match retries.after(poll(&id, left.as_secs().clamp(1, POLL))) {
            Ok(found) if found.digest != open.digest => {
                return Err(Error::Unexpected("the response is for another call".to_owned()));
            }
            Ok(found) => open = found,
            Err(None) => {}
            Err(Some(error)) if error.is_transient() => {
                return Ok(WaitResult::Pending { request: Box::new(open), lost: Some(error) });
            }
            Err(Some(error)) => return Err(error),
        }
    }
}

/// Retries of a failing exchange.
struct Retries {
    limits: WaitLimits,
    /// When to give up if the daemon does not respond.
    until: Instant,
    pause: Duration,
}

impl Retries {
    fn new(limits: WaitLimits) -> Retries {
        Retries { limits, until: (Instant::now() + FIRST_CONTACT).min(limits.end), pause: PAUSE }
    }

    /// The result of an exchange; `Err(Some)` ends the loop, `Err(None)` means retry after a pause.
    fn after<T>(&mut self, exchange: Result<T, Error>) -> Result<T, Option<Error>> {
        let error = match exchange {
            Ok(found) => {
                self.extend();
                self.pause = PAUSE;
                return Ok(found);
            }
            Err(error) if error.is_transient() => error,
            Err(error) => return Err(Some(error)),
        };
        // A daemon that accepted the request and hung up is running, and may come back.
        if matches!(error, Error::Unreachable { sent: true, .. }) {
            self.extend();
        }
        if Instant::now() + self.pause >= self.until {
            return Err(Some(error));
        }
        thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Err(None)
    }

    fn extend(&mut self) {
        let gone = self.limits.gone.and_then(|gone| Instant::now().checked_add(gone));
        self.until = gone.map_or(self.limits.end, |gone| gone.min(self.limits.end));
    }
}
