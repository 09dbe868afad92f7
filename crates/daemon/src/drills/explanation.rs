//! What is said of a drill once it is over: at once, kindly, and what to look for.

use countersign_store::StoredRequest;
use countersign_workflow::request::{Requester, State};
use serde_json::{Value, json};

use super::catalog;

/// What is said; nothing of what is no drill, or waits still.
pub fn explain(stored: &StoredRequest) -> Option<String> {
    let Requester::Drill { kind, shown } = &stored.request.requester else { return None };
    // An earlier version may have had others.
    let noticed = catalog::find(kind).map(|drill| drill.noticed.as_str());
    let look = noticed.map(|noticed| format!(" Worth noticing: {noticed}.")).unwrap_or_default();
    let nothing = format!("This was a drill: {shown} asked for nothing, and nothing runs.");
    Some(match stored.request.state {
        State::Pending => return None,
        State::Denied => format!("{nothing} You caught it.{look}"),
        State::Approved => format!(
            "{nothing} It was made to be denied; this happens to everybody, and that is what \
             drills are for.{look}"
        ),
        State::Expired => {
            format!("{nothing} It expired without an answer, which counts as a denial.{look}")
        }
        State::Cancelled => {
            "This was a drill. It was cancelled, because a graver request arrived.".to_owned()
        }
    })
}

/// Whether people caught it; nothing where nobody answered.
pub fn caught(stored: &StoredRequest) -> Option<bool> {
    match stored.request.state {
        State::Denied => Some(true),
        State::Approved => Some(false),
        State::Pending | State::Expired | State::Cancelled => None,
    }
}

/// The same for programs; null of what is no drill, or waits still.
pub fn document(stored: &StoredRequest) -> Value {
    let Some(words) = explain(stored) else { return Value::Null };
    let Requester::Drill { kind, .. } = &stored.request.requester else { return Value::Null };
    json!({ "name": kind, "caught": caught(stored), "words": words })
}
