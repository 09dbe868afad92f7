//! What an executor gets, and what its output becomes.

use serde_json::{Value, json};

use crate::dialect::ProtocolDialect;
use crate::parts::parts_of;
use crate::task::DelegatedTask;

/// The member of an output that asks the sender a question.
const QUESTION: &str = "input_required";
/// The member of an output that answers with a message.
const REPLY: &str = "message";

/// The task as every executor gets it, with the approved text and the texts before it. Everything
/// in it that the sender wrote is in the call that was approved.
pub fn task_input(task: &DelegatedTask, text: &str) -> Value {
    json!({
        "taskId": task.id, "task": text, "requester": task.peer, "chain": task.chain,
        "metadata": task.current_metadata(), "contextId": task.context,
        "messageId": task.current_message(), "history": task.earlier_texts(),
    })
}

/// The question to the sender that an executor returned in place of a result.
pub fn question_of(artifact: &Value) -> Option<&str> {
    artifact.get(QUESTION)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// The message to the sender that an executor returned in place of a result, as an object with
/// `parts`.
pub fn reply_of(artifact: &Value) -> Option<Value> {
    match artifact.get(REPLY)? {
        Value::String(text) if !text.trim().is_empty() => {
            Some(json!({ "parts": [{ "text": text }] }))
        }
        reply @ Value::Object(_) => {
            parts_of(reply, ProtocolDialect::V1).map(|parts| json!({ "parts": parts }))
        }
        _ => None,
    }
}

/// The texts of a message.
pub fn reply_text(reply: &Value) -> String {
    let parts = reply.get("parts").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    texts.join("\n")
}

/// An artifact from what an executor wrote: an object with `text`, the object in `artifact`, or the
/// text itself.
pub fn artifact(output: &str) -> Value {
    let output = output.trim();
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(output) else {
        return json!({ "text": output });
    };
    if members.contains_key("text") || members.contains_key(QUESTION) {
        return Value::Object(members);
    }
    if let Some(Value::Object(inner)) = members.get("artifact") {
        return Value::Object(inner.clone());
    }
    let members = Value::Object(members);
    if reply_of(&members).is_some() { members } else { json!({ "text": output }) }
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
        let question = artifact(r#"{"input_required":"Which one?"}"#);
        assert_eq!(question_of(&question), Some("Which one?"));
        assert_eq!(question_of(&artifact(r#"{"text":"x"}"#)), None);
        let reply = reply_of(&artifact(r#"{"message":"Hello"}"#)).unwrap();
        assert_eq!(
            (reply_text(&reply).as_str(), &reply["parts"][0]["text"]),
            ("Hello", &json!("Hello"))
        );
        assert!(reply_of(&artifact(r#"{"message":{"parts":[{"data":1}]}}"#)).is_some());
        for other in [r#"{"message":{"x":1}}"#, r#"{"message":" "}"#, r#"{"text":"a"}"#, "hello"] {
            assert_eq!(reply_of(&artifact(other)), None, "{other}");
        }
        assert_eq!(artifact(r#"{"z":1}"#), json!({ "text": "{\"z\":1}" }));
    }
}
