//! What an executor gets, and what its output becomes.

use serde_json::{Value, json};

use crate::task::DelegatedTask;

/// The task as every executor gets it, with the approved text.
pub fn task_input(task: &DelegatedTask, text: &str) -> Value {
    json!({
        "taskId": task.id, "task": text, "requester": task.peer, "chain": task.chain,
        "metadata": task.metadata, "contextId": task.context, "messageId": task.message,
    })
}

/// An artifact from what an executor wrote: an object with `text`, the object in `artifact`, or the
/// text itself.
pub fn artifact(output: &str) -> Value {
    let output = output.trim();
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(output) else {
        return json!({ "text": output });
    };
    if members.contains_key("text") {
        return Value::Object(members);
    }
    match members.get("artifact") {
        Some(Value::Object(inner)) => Value::Object(inner.clone()),
        _ => json!({ "text": output }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_become_artifacts() {
        assert_eq!(artifact("hello\n"), json!({ "text": "hello" }));
        assert_eq!(artifact(r#"{"text":"a","x":1}"#), json!({ "text": "a", "x": 1 }));
        assert_eq!(artifact(r#"{"artifact":{"y":2}}"#), json!({ "y": 2 }));
        assert_eq!(artifact("[1]"), json!({ "text": "[1]" }));
        assert_eq!(artifact(r#"{"z":1}"#), json!({ "text": "{\"z\":1}" }));
    }
}
