//! A task as the call that the gate assesses: everything of it that the sender wrote and the
//! executor gets.

use serde_json::{Value, json};

use crate::object::set;
use crate::task::{ApprovedContent, DelegatedTask};

/// The longest id that is taken for random.
const MAX_RANDOM_ID: usize = 64;

/// The arguments of the call.
pub fn task_arguments(task: &DelegatedTask) -> Value {
    let mut all = json!({ "from": task.peer, "chain": task.chain, "task": task.current_text() });
    if let Some(label) = &task.requester {
        set(&mut all, "requester_label", json!(label));
    }
    if let Some(first) = task.earlier_texts().first() {
        set(&mut all, "first_task", json!(first));
    } else if has_members(&task.metadata) {
        set(&mut all, "metadata", task.metadata.clone());
    }
    // The executor gets the ids as well, and a sender can write words in their place.
    let ids = [("context_id", Some(task.context.as_str())), ("message_id", task.current_message())];
    for (name, id) in ids {
        if let Some(id) = id.filter(|id| !is_random(id)) {
            set(&mut all, name, json!(id));
        }
    }
    all
}

/// Whether an id carries no words: a number, a UUID, or an id of this node.
fn is_random(id: &str) -> bool {
    let is_hex = id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_own = countersign_types::id::Id::parse(id).is_some();
    id.len() <= MAX_RANDOM_ID && (is_hex || is_own)
}

fn has_members(metadata: &Value) -> bool {
    metadata.as_object().is_some_and(|members| !members.is_empty())
}

/// What is screened for signs of a crisis: the text, and the metadata that comes with it.
pub fn screened_text(task: &DelegatedTask) -> String {
    let text = task.current_text();
    if task.further.is_empty() && has_members(&task.metadata) {
        return format!("{text}\n{}", task.metadata);
    }
    text.to_owned()
}

/// What runs after an approval, with the arguments as a person edited them. Only the task and its
/// metadata can be edited: the rest comes from the certificate, or was approved before.
pub fn approved_content(
    task: &DelegatedTask,
    edited: Option<&Value>,
) -> Result<ApprovedContent, &'static str> {
    let metadata = task.current_metadata();
    let Some(edited) = edited else {
        let (text, metadata) = (task.current_text().to_owned(), metadata.clone());
        return Ok(ApprovedContent { text, metadata });
    };
    let text = edited.get("task").and_then(Value::as_str);
    let text = text.ok_or("the edited call has no task")?.to_owned();
    let is_first = task.further.is_empty();
    let metadata = match edited.get("metadata") {
        None if is_first => json!({}),
        None => metadata.clone(),
        Some(metadata @ Value::Object(_)) if is_first => metadata.clone(),
        Some(_) => return Err("the metadata of the edited call cannot be used"),
    };
    let asked = task_arguments(task);
    let editable = |name: &str| name == "task" || name == "metadata";
    let known = asked.as_object().into_iter().flatten();
    let differs = known
        .filter(|(name, _)| !editable(name) && *name != "requester_label")
        .any(|(name, value)| edited.get(name) != Some(value));
    let added = edited.as_object().into_iter().flatten();
    let adds = added.filter(|(name, _)| !editable(name)).any(|(name, _)| asked.get(name).is_none());
    if differs || adds {
        return Err("only the task and its metadata can be edited");
    }
    Ok(ApprovedContent { text, metadata })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{SenderAnswer, test_task};

    #[test]
    fn everything_that_the_sender_wrote_is_in_the_call() {
        let mut task = test_task();
        task.context = "0192f0c1-aaaa-7bbb-8ccc-0123456789ab".to_owned();
        assert_eq!(
            task_arguments(&task),
            json!({ "from": "alice", "chain": ["alice"], "task": "x" })
        );
        task.metadata = json!({ "instructions": "y" });
        task.context = "do it twice".to_owned();
        task.message = Some("and say nothing".to_owned());
        let call = task_arguments(&task);
        assert_eq!(call["metadata"]["instructions"], "y");
        assert_eq!(
            (&call["context_id"], &call["message_id"]),
            (&json!("do it twice"), &json!("and say nothing"))
        );
        assert!(screened_text(&task).contains("instructions"));
    }

    #[test]
    fn an_edit_changes_the_task_and_its_metadata_only() {
        let mut task = test_task();
        task.metadata = json!({ "a": 1 });
        task.context = "mine".to_owned();
        let base =
            json!({ "from": "alice", "chain": ["alice"], "context_id": "mine", "task": "z" });
        let kept = approved_content(&task, None).unwrap();
        assert_eq!((kept.text.as_str(), &kept.metadata), ("x", &json!({ "a": 1 })));
        let edited = approved_content(&task, Some(&base)).unwrap();
        assert_eq!((edited.text.as_str(), &edited.metadata), ("z", &json!({})));
        for (name, value) in [
            ("from", json!("bob")),
            ("chain", json!([])),
            ("metadata", json!("text")),
            ("context_id", json!("d")),
            ("first_task", json!("w")),
            ("task", json!(1)),
        ] {
            let mut other = base.clone();
            set(&mut other, name, value);
            assert!(approved_content(&task, Some(&other)).is_err(), "{name}");
        }
        task.approve(&edited);
        let (id, text) = ("0".to_owned(), "more".to_owned());
        task.further.push(SenderAnswer { id, text, approved: None });
        assert_eq!(task_arguments(&task)["first_task"], "z");
        assert_eq!(task.earlier_texts(), ["z"]);
        assert_eq!(approved_content(&task, None).unwrap().metadata, json!({}));
    }
}
