//! Calls that wait as tasks, for clients that can: answered at once, asked about again later.

use std::sync::Arc;

use countersign_json::Value;
use serde_json::json;

use super::{Open, Session};
use crate::mcp::judge::Asking;
use crate::mcp::message::{Id, ToolCall};
use crate::mcp::scan;
use crate::mcp::task::{self, Task};
use crate::mcp::words;

impl Session {
    /// Holds a call as a task. The call comes back where it has to wait without one.
    pub(super) fn as_task(
        self: &Arc<Session>,
        (id, written): (&Id, &str),
        call: &ToolCall<'_>,
        line: &str,
        asking: Box<Asking>,
    ) -> Result<(), Box<Asking>> {
        let Some(name) = task::fresh_name() else { return Err(asking) };
        let quoted = format!("\"{name}\"");
        let (Some(key), Some(mut line)) =
            (Id::read(&quoted), scan::with(line, &[("id", Some(&quoted))]))
        else {
            return Err(asking);
        };
        line.push('\n');
        let task = Task::new();
        let told = task.told(&name, "task");
        {
            let mut state = self.state();
            state.tasks.retain(|_, task| !task.is_old());
            if state.tasks.len() >= task::MOST {
                return Err(asking);
            }
            state.tasks.insert(key.clone(), task);
            state.open.insert(key.clone(), Open::Held);
        }
        self.end(id, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{written},\"result\":{told}}}"));
        let mut holder = self.holder(&key, &quoted, call, &line, task::PATIENCE);
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
        task.answered(text);
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
            "tasks/update" => task::DONE.to_owned(),
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
                task::DONE.to_owned()
            }
            _ => return Some(words::error(written, -32601, "there is nothing like that")),
        };
        Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{written},\"result\":{result}}}"))
    }
}
