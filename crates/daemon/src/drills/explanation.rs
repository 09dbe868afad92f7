//! The explanation that people get after a drill.

use countersign_store::StoredRequest;
use countersign_workflow::request::{Requester, State};
use serde_json::{Value, json};

use super::catalog;

/// The explanation; none for a real request or a pending drill.
pub fn explain(stored: &StoredRequest) -> Option<String> {
    let Requester::Drill { kind, shown } = &stored.request.requester else { return None };
    // The template may come from an earlier version.
    let noticed = catalog::find(kind).map(|drill| drill.noticed.as_str());
    let look = noticed.map(|noticed| format!(" Worth noticing: {noticed}.")).unwrap_or_default();
    let nothing = format!("This was a drill: {shown} asked for nothing, and nothing runs.");
    Some(match stored.request.state {
        State::Pending => return None,
        State::Denied => format!("{nothing} You caught it.{look}"),
        State::Approved => format!(
            "{nothing} It should have been denied. This happens to everyone, and that is what \
             drills are for.{look}"
        ),
        State::Expired => {
            format!("{nothing} It expired without an answer, which counts as a denial.{look}")
        }
        State::Cancelled => {
            "This was a drill. It was cancelled, because a request of a higher tier arrived."
                .to_owned()
        }
    })
}

/// Whether people denied it; none if no person decided.
pub fn caught(stored: &StoredRequest) -> Option<bool> {
    match stored.request.state {
        State::Denied => Some(true),
        State::Approved => Some(false),
        State::Pending | State::Expired | State::Cancelled => None,
    }
}

/// The explanation as JSON; null for a real request or a pending drill.
pub fn document(stored: &StoredRequest) -> Value {
    let Some(words) = explain(stored) else { return Value::Null };
    let Requester::Drill { kind, .. } = &stored.request.requester else { return Value::Null };
    json!({ "name": kind, "caught": caught(stored), "words": words })
}
