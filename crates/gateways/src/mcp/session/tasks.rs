//! Calls that wait as tasks, for clients that can: answered at once, asked about again later.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use countersign_core::base64;
use countersign_core::json::Value;
use countersign_core::time::Timestamp;
use serde_json::json;

use super::{Open, Session};
use crate::mcp::heard::{self, Heard};
use crate::mcp::judge::Asking;
use crate::mcp::message::{Id, ToolCall};
use crate::mcp::scan;
use crate::mcp::words;

/// A task waits as long as people may take.
const PATIENCE: Duration = Duration::from_hours(24);
/// How often a client is told to ask, and for how long it may.
const POLL_MS: u64 = 2000;
const TTL_MS: u64 = 24 * 3_600_000;
/// So many are remembered; the next call waits without one.
const MOST: usize = 1000;

/// A call that waits, or is over.
pub(super) struct Task {
    made: Timestamp,
    changed: Timestamp,
    status: &'static str,
    /// `result` or `error`, and the text of it.
    outcome: Option<(&'static str, String)>,
}

impl Task {
    /// How it stands.
    fn told(&self, name: &str, kind: &str) -> String {
        let task = json!({
            "resultType": kind,
            "taskId": name,
            "status": self.status,
            "createdAt": self.made,
            "lastUpdatedAt": self.changed,
            "ttlMs": TTL_MS,
            "pollIntervalMs": POLL_MS,
        });
        let task = task.to_string();
        match &self.outcome {
            // As it was written, not as we would write it.
            Some((what, text)) => scan::with(&task, &[(what, Some(text))]).unwrap_or(task),
            None => task,
        }
    }

    fn end(&mut self, status: &'static str, outcome: Option<(&'static str, String)>) {
        if self.status == "working" {
            (self.status, self.outcome, self.changed) = (status, outcome, now());
        }
    }
}

impl Session {
    /// Holds a call as a task. The call comes back where it has to wait without one.
    pub(super) fn as_task(
        self: &Arc<Session>,
        (id, written): (&Id, &str),
        call: &ToolCall<'_>,
        line: &str,
        asking: Box<Asking>,
    ) -> Result<(), Box<Asking>> {
        let mut bytes = [0; 12];
        if getrandom::fill(&mut bytes).is_err() {
            return Err(asking);
        }
        let name = format!("countersign:task:{}", base64::encode_url(&bytes));
        let quoted = format!("\"{name}\"");
        let (Some(key), Some(mut line)) =
            (Id::read(&quoted), scan::with(line, &[("id", Some(&quoted))]))
        else {
            return Err(asking);
        };
        line.push('\n');
        let task = Task { made: now(), changed: now(), status: "working", outcome: None };
        let told = task.told(&name, "task");
        {
            let mut state = self.state();
            if state.tasks.len() >= MOST {
                return Err(asking);
            }
            state.tasks.insert(key.clone(), task);
            state.open.insert(key.clone(), Open::Held);
        }
        self.end(id, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{written},\"result\":{told}}}"));
        let mut holder = self.holder(&key, &quoted, call, &line, PATIENCE);
        // The request is answered: nothing may be said about its progress any more.
        holder.progress = None;
        self.desk.hold(*asking, holder, None);
        Ok(())
    }

    /// The answer to a call that is a task is kept for whoever asks, one in a batch until all are
    /// there. Whether it was one of these.
    pub(super) fn is_kept(&self, id: &Id, text: &str) -> bool {
        let mut state = self.state();
        let Some(task) = state.tasks.get_mut(id) else {
            drop(state);
            return self.is_gathered(id, Some(text));
        };
        match heard::read(text) {
            Some(Heard::Answer { result: Ok(result), .. }) => {
                task.end("completed", Some(("result", result.to_owned())));
            }
            Some(Heard::Answer { result: Err(error), .. }) => {
                task.end("failed", Some(("error", error.to_owned())));
            }
            _ => task.end("failed", None),
        }
        true
    }

    /// What a client asks about a task of ours; nothing if it is none of ours.
    pub(super) fn about_task(
        self: &Arc<Session>,
        method: &str,
        written: &str,
        params: &Value<'_>,
    ) -> Option<String> {
        let name = params.get("taskId").and_then(Value::as_str)?;
        let key = Id::of(params.get("taskId")?)?;
        let mut state = self.state();
        let task = state.tasks.get_mut(&key)?;
        let result = match method {
            "tasks/get" => task.told(name, "complete"),
            "tasks/update" => "{\"resultType\":\"complete\"}".to_owned(),
            "tasks/cancel" => {
                task.end("cancelled", None);
                let runs = !matches!(state.open.remove(&key), Some(Open::Held) | None);
                drop(state);
                self.desk.withdraw(&format!("{key:?}"));
                if runs {
                    let params = json!({ "requestId": name });
                    let notice = json!({
                        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params,
                    });
                    self.pass(&format!("{notice}\n"));
                }
                "{\"resultType\":\"complete\"}".to_owned()
            }
            _ => return Some(words::error(written, -32601, "there is nothing like that")),
        };
        Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{written},\"result\":{result}}}"))
    }
}

#[expect(clippy::disallowed_methods, reason = "a task says when it was made; nothing hangs on it")]
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
