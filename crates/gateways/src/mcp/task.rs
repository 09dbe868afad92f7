//! A call that waits as a task: how it stands, for whoever asks about it later.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use countersign_json::base64;
use countersign_types::time::Timestamp;
use serde_json::json;

use super::heard::{self, Heard};
use super::scan;

/// A task waits as long as people may take.
pub const PATIENCE: Duration = Duration::from_hours(24);
/// So many are remembered; the next call waits without one.
pub const MOST: usize = 1000;
/// The answer to what only has to be heard.
pub const DONE: &str = "{\"resultType\":\"complete\"}";
/// How often a client is told to ask, and for how long it may.
const POLL_MS: u64 = 2000;
const TTL: Duration = Duration::from_hours(24);

/// A call that waits, or is over.
#[derive(Debug)]
pub struct Task {
    made: Timestamp,
    since: Instant,
    changed: Timestamp,
    status: &'static str,
    /// `result` or `error`, and the text of it.
    outcome: Option<(&'static str, String)>,
}

/// A name that nobody can guess.
pub fn fresh_name() -> Option<String> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("countersign:task:{}", base64::encode_url(&bytes)))
}

impl Task {
    /// It waits from now on.
    pub fn new() -> Task {
        let now = now();
        Task { made: now, since: Instant::now(), changed: now, status: "working", outcome: None }
    }

    /// Whether nobody may ask about it any more.
    pub fn is_old(&self) -> bool {
        self.since.elapsed() > TTL
    }

    /// How it stands.
    pub fn told(&self, name: &str, kind: &str) -> String {
        let task = json!({
            "resultType": kind,
            "taskId": name,
            "status": self.status,
            "createdAt": self.made,
            "lastUpdatedAt": self.changed,
            "ttlMs": u64::try_from(TTL.as_millis()).unwrap_or(u64::MAX),
            "pollIntervalMs": POLL_MS,
        });
        let task = task.to_string();
        match &self.outcome {
            // As it was written, not as we would write it.
            Some((what, text)) => scan::with(&task, &[(what, Some(text))]).unwrap_or(task),
            None => task,
        }
    }

    /// The call was answered with this message.
    pub fn answered(&mut self, text: &str) {
        match heard::read(text) {
            Some(Heard::Answer { result: Ok(result), .. }) => {
                self.end("completed", Some(("result", result.to_owned())));
            }
            Some(Heard::Answer { result: Err(error), .. }) => {
                self.end("failed", Some(("error", error.to_owned())));
            }
            _ => self.end("failed", None),
        }
    }

    /// It is over, if it was not before.
    pub fn end(&mut self, status: &'static str, outcome: Option<(&'static str, String)>) {
        if self.status == "working" {
            (self.status, self.outcome, self.changed) = (status, outcome, now());
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a task says when it was made; nothing hangs on it")]
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
