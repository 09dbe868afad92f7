//! The one loop in which a question is waited for: through lost connections and restarts, and
//! never longer than it was told.

use std::thread;
use std::time::{Duration, Instant};

use crate::agent::Agent;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::request::Request;

/// How long a daemon that was never reached is waited for: nobody may be there at all, and that
/// is said soon.
const KNOCK: Duration = Duration::from_secs(2);
/// How long one look at a request waits at the daemon; short, so that a lost connection is soon
/// noticed.
const LOOK: u64 = 20;
const SHORTEST_LOOK: Duration = Duration::from_secs(1);
/// How long after a failure it is tried again, first and at most.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long a question is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// Until when.
    pub end: Instant,
    /// How long a daemon may be gone that was heard before: as long as we wait, if nothing is said.
    pub gone: Option<Duration>,
}

/// What came of the waiting.
#[derive(Debug)]
pub enum Waited {
    /// It is over.
    Ended(Outcome),
    /// Somebody can still answer it; but we wait no longer.
    Pending {
        /// As it was last seen.
        request: Box<Request>,
        /// Why the daemon could not be asked any more, where that is the reason.
        lost: Option<Error>,
    },
}

impl Agent {
    /// Puts a question by `put` until it arrives, and waits until it has ended. `goes_on` is asked
    /// before each look, with the request once there is one, and whether to go on.
    pub fn wait_until(
        &self,
        waiting: Waiting,
        mut put: impl FnMut() -> Result<Request, Error>,
        mut goes_on: impl FnMut(Option<&Request>) -> bool,
    ) -> Result<Waited, Error> {
        let mut tries = Tries::new(waiting);
        let mut open = loop {
            match tries.after(put()) {
                Ok(found) => break found,
                Err(Some(error)) => return Err(error),
                Err(None) if !goes_on(None) => {
                    return Err(Error::Unexpected("it was no longer waited for".to_owned()));
                }
                Err(None) => {}
            }
        };
        loop {
            if let Some(outcome) = Outcome::of(open.clone())? {
                return Ok(Waited::Ended(outcome));
            }
            let left = waiting.end.saturating_duration_since(Instant::now());
            // A look takes a second at least, and must not outlast the end.
            if left < SHORTEST_LOOK || !goes_on(Some(&open)) {
                return Ok(Waited::Pending { request: Box::new(open), lost: None });
            }
            // By its name: that outlives the connection, and a restart of the daemon.
            let id = open
                .id
                .clone()
                .ok_or_else(|| Error::Unexpected("a request without a name waits".to_owned()))?;
            match tries.after(self.wait(&id, left.as_secs().clamp(1, LOOK))) {
                Ok(found) if found.digest != open.digest => {
                    return Err(Error::Unexpected("the answer is for another call".to_owned()));
                }
                Ok(found) => open = found,
                Err(None) => {}
                Err(Some(error)) if error.passes_by_itself() => {
                    return Ok(Waited::Pending { request: Box::new(open), lost: Some(error) });
                }
                Err(Some(error)) => return Err(error),
            }
        }
    }
}

/// How often a failing exchange is tried again.
struct Tries {
    waiting: Waiting,
    /// Until when it is worth trying, if nothing is heard.
    until: Instant,
    pause: Duration,
}

impl Tries {
    fn new(waiting: Waiting) -> Tries {
        Tries { waiting, until: (Instant::now() + KNOCK).min(waiting.end), pause: PAUSE }
    }

    /// What an exchange gave; or the error that ends it all; or, after a pause, nothing.
    fn after<T>(&mut self, exchange: Result<T, Error>) -> Result<T, Option<Error>> {
        let error = match exchange {
            Ok(found) => {
                self.heard();
                self.pause = PAUSE;
                return Ok(found);
            }
            Err(error) if error.passes_by_itself() => error,
            Err(error) => return Err(Some(error)),
        };
        // Who took the question and hung up is there, and may come back.
        if matches!(error, Error::Unreachable { sent: true, .. }) {
            self.heard();
        }
        if Instant::now() + self.pause >= self.until {
            return Err(Some(error));
        }
        thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Err(None)
    }

    fn heard(&mut self) {
        let gone = self.waiting.gone.and_then(|gone| Instant::now().checked_add(gone));
        self.until = gone.map_or(self.waiting.end, |gone| gone.min(self.waiting.end));
    }
}
