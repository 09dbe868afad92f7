//! Tasks as each version of the protocol writes them.

use countersign_types::time::Timestamp;
use serde_json::{Value, json};

use crate::dialect::ProtocolDialect;
use crate::object::set;
use crate::parts::parts_of;
use crate::state::TaskState;
use crate::task::{DelegatedTask, TaskStep};

/// What of a task is written.
#[derive(Debug, Clone, Copy)]
pub struct TaskView {
    /// The version.
    pub dialect: ProtocolDialect,
    /// How many of the sender's messages are repeated, the last ones.
    pub history: usize,
    /// Whether the results are included.
    pub artifacts: bool,
}

impl TaskView {
    /// The whole task.
    pub const fn whole(dialect: ProtocolDialect) -> TaskView {
        TaskView { dialect, history: usize::MAX, artifacts: true }
    }

    /// The task as JSON.
    pub fn task(self, task: &DelegatedTask) -> Value {
        if self.dialect == ProtocolDialect::Original {
            return original(task);
        }
        let mut out = json!({
            "id": task.id, "contextId": task.context, "status": status(task, self.dialect),
        });
        if self.artifacts && !task.artifacts.is_empty() {
            set(&mut out, "artifacts", artifacts(task, self.dialect));
        }
        if self.history > 0 {
            let all = user_messages(task, self.dialect);
            let skipped = all.len().saturating_sub(self.history);
            set(&mut out, "history", all.into_iter().skip(skipped).collect());
        }
        if self.dialect == ProtocolDialect::V03 {
            set(&mut out, "kind", json!("task"));
        }
        out
    }
}

/// The object that a stream sends about a new state.
pub fn status_update(task: &DelegatedTask, dialect: ProtocolDialect) -> Value {
    let mut update = json!({
        "taskId": task.id, "contextId": task.context, "status": status(task, dialect),
    });
    if dialect == ProtocolDialect::V03 {
        set(&mut update, "kind", json!("status-update"));
        set(&mut update, "final", json!(task.state().is_final()));
        return update;
    }
    json!({ "statusUpdate": update })
}

/// The objects that a stream sends about the results.
pub fn artifact_updates(task: &DelegatedTask, dialect: ProtocolDialect) -> Vec<Value> {
    let list = artifacts(task, dialect);
    let one = |artifact: &Value| {
        let mut update = json!({
            "taskId": task.id, "contextId": task.context, "artifact": artifact,
        });
        if dialect == ProtocolDialect::V03 {
            set(&mut update, "kind", json!("artifact-update"));
            return update;
        }
        set(&mut update, "lastChunk", json!(true));
        json!({ "artifactUpdate": update })
    };
    list.as_array().into_iter().flatten().map(one).collect()
}

/// The last step of a task.
fn last(task: &DelegatedTask) -> TaskStep {
    task.steps.last().cloned().unwrap_or(TaskStep {
        state: TaskState::Failed.word().to_owned(),
        at: task.created,
        note: String::new(),
    })
}

fn status(task: &DelegatedTask, dialect: ProtocolDialect) -> Value {
    let step = last(task);
    let state = task.state();
    let mut out = json!({
        "state": if dialect == ProtocolDialect::V1 { state.name() } else { state.word() },
        "timestamp": Timestamp(step.at).to_string(),
    });
    if !step.note.is_empty() {
        let id = format!("{}-{}", task.id, task.steps.len());
        let mut message = message(&step.note, &id, false, dialect);
        set(&mut message, "taskId", json!(task.id));
        set(&mut message, "contextId", json!(task.context));
        if let Some(question) = task.question.as_ref().filter(|_| state == TaskState::AuthRequired)
        {
            set(&mut message, "metadata", json!({ "countersign": question }));
        }
        set(&mut out, "message", message);
    }
    out
}

fn message(text: &str, id: &str, from_user: bool, dialect: ProtocolDialect) -> Value {
    match dialect {
        ProtocolDialect::V1 => json!({
            "messageId": id, "role": if from_user { "ROLE_USER" } else { "ROLE_AGENT" },
            "parts": [{ "text": text }],
        }),
        ProtocolDialect::V03 | ProtocolDialect::Original => json!({
            "kind": "message", "messageId": id, "role": if from_user { "user" } else { "agent" },
            "parts": [{ "kind": "text", "text": text }],
        }),
    }
}

/// The message that answered a task in place of a result.
pub fn reply(task: &DelegatedTask, dialect: ProtocolDialect) -> Option<Value> {
    let parts = parts_of(task.reply.as_ref()?, dialect)?;
    let mut out = message("", &format!("{}-reply", task.id), false, dialect);
    set(&mut out, "parts", json!(parts));
    set(&mut out, "contextId", json!(task.context));
    Some(out)
}

fn user_messages(task: &DelegatedTask, dialect: ProtocolDialect) -> Vec<Value> {
    let first = (task.message.as_deref().unwrap_or(&task.id), task.text.as_str());
    let further = task.further.iter().map(|one| (one.id.as_str(), one.text.as_str()));
    let one = |(id, text): (&str, &str)| {
        let mut out = message(text, id, true, dialect);
        set(&mut out, "taskId", json!(task.id));
        set(&mut out, "contextId", json!(task.context));
        out
    };
    std::iter::once(first).chain(further).map(one).collect()
}

fn artifacts(task: &DelegatedTask, dialect: ProtocolDialect) -> Value {
    let one = |(at, artifact): (usize, &Value)| {
        let text = artifact.get("text").and_then(Value::as_str);
        let parts = parts_of(artifact, dialect);
        let is_named = text.is_some() || parts.is_some();
        let part = match (text, dialect) {
            (Some(text), ProtocolDialect::V1) => json!({ "text": text }),
            (Some(text), _) => json!({ "kind": "text", "text": text }),
            (None, ProtocolDialect::V1) => json!({ "data": artifact }),
            (None, _) => json!({ "kind": "data", "data": artifact }),
        };
        let parts = parts.unwrap_or_else(|| vec![part]);
        let mut out = json!({ "artifactId": format!("{}-{at}", task.id), "parts": parts });
        for name in ["name", "description", "metadata"] {
            if let Some(value) = artifact.get(name).filter(|_| is_named) {
                set(&mut out, name, value.clone());
            }
        }
        out
    };
    Value::Array(task.artifacts.iter().enumerate().map(one).collect())
}

/// The task as the original methods write it.
fn original(task: &DelegatedTask) -> Value {
    let step = last(task);
    let mut metadata = task.metadata.clone();
    if let Some(members) = metadata.as_object_mut() {
        members.insert("peer_cn".to_owned(), json!(task.peer));
        if let Some(question) = &task.question {
            members.insert("countersign".to_owned(), json!(question));
        }
    }
    json!({
        "taskId": task.id, "task": task.text,
        "requester": task.requester.as_deref().unwrap_or(&task.peer),
        "metadata": metadata, "artifacts": task.artifacts,
        "status": {
            "state": task.state().word(), "message": step.note,
            "timestamp": Timestamp(step.at).to_string(),
        },
    })
}
