//! A call that waits as a task of the tasks extension.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use countersign_json::base64;
use countersign_types::time::Timestamp;
use serde_json::json;

use super::raw_json;
use super::server_message::{self, ServerMessage};

/// How long a task waits for a person.
pub const TIME_LIMIT: Duration = Duration::from_hours(24);
/// How many tasks are remembered; the next call waits without one.
pub const MAX_TASKS: usize = 1000;
/// The result of requests that only need an acknowledgement.
pub const ACKNOWLEDGED: &str = "{\"resultType\":\"complete\"}";
/// How often a client is told to poll, and for how long it may.
const POLL_MS: u64 = 2000;
const TTL: Duration = Duration::from_hours(24);

/// A call that waits, runs or has ended.
#[derive(Debug)]
pub struct PendingTask {
    made: Timestamp,
    since: Instant,
    changed: Timestamp,
    status: &'static str,
    /// `result` or `error`, and the text of it.
    outcome: Option<(&'static str, String)>,
}

/// A task id that no one can guess; nothing without randomness.
pub fn new_task_id() -> Option<String> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("countersign:task:{}", base64::encode_url(&bytes)))
}

impl PendingTask {
    /// A task that waits from now on.
    pub fn new() -> PendingTask {
        let now = now();
        PendingTask {
            made: now,
            since: Instant::now(),
            changed: now,
            status: "working",
            outcome: None,
        }
    }

    /// Whether its time to live is over.
    pub fn is_expired(&self) -> bool {
        self.since.elapsed() > TTL
    }

    /// Its status, as the JSON text of a result.
    pub fn status(&self, name: &str, kind: &str) -> String {
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
            // Every byte of the server's result is kept.
            Some((what, text)) => {
                raw_json::with_members(&task, &[(what, Some(text))]).unwrap_or(task)
            }
            None => task,
        }
    }

    /// Ends with the response to the call.
    pub fn finish(&mut self, text: &str) {
        match server_message::read(text) {
            Some(ServerMessage::Response { result: Ok(result), .. }) => {
                self.end("completed", Some(("result", result.to_owned())));
            }
            Some(ServerMessage::Response { result: Err(error), .. }) => {
                self.end("failed", Some(("error", error.to_owned())));
            }
            _ => self.end("failed", None),
        }
    }

    /// Ends, if it has not ended before.
    pub fn end(&mut self, status: &'static str, outcome: Option<(&'static str, String)>) {
        if self.status == "working" {
            (self.status, self.outcome, self.changed) = (status, outcome, now());
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "clients are shown when a task was made; nothing depends on it"
)]
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
