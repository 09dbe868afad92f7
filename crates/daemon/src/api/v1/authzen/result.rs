//! The result of an evaluation.

use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use serde_json::{Value, json};

/// The members that every evaluation result has.
#[derive(Clone, Copy)]
pub struct EvaluationMeta {
    /// The id of the evaluation.
    pub id: Id,
    /// Its time.
    pub at: Timestamp,
}

impl EvaluationMeta {
    /// A denial, and what the enforcement point can do next.
    pub fn denied(self, reason: &str, next: &str) -> Value {
        json!({ "decision": false, "context": {
            "evaluation_id": self.id, "evaluated_at": self.at, "reason": reason,
            "next_action": next,
        } })
    }

    /// A permission.
    pub fn permitted(self, context: &Value) -> Value {
        let mut answer = json!({ "decision": true, "context": context });
        insert(&mut answer, "evaluation_id", json!(self.id));
        insert(&mut answer, "evaluated_at", json!(self.at));
        answer
    }
}

/// Adds a member to the context of a result.
pub fn insert(answer: &mut Value, name: &str, value: Value) {
    if let Some(context) = answer.pointer_mut("/context").and_then(Value::as_object_mut) {
        context.insert(name.to_owned(), value);
    }
}
