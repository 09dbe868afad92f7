//! What several routes about requests have in common: queries, waits, ids and documents.

use std::time::Duration;

use axum::extract::Query;
use countersign_risk::verdict::Mode;
use countersign_store::{Store as _, StoredRequest};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use countersign_workflow::request::{Decider, EscalationLevel, State};
use serde::Deserialize;
use serde_json::json;

use crate::api::v1::document;
use crate::api::{Api, ApiProblem};
use crate::gate::Caller;

/// The longest wait in one request; a caller that waits longer asks again.
const MAX_WAIT: u64 = 600;
/// The default wait.
pub const DEFAULT_WAIT: u64 = 30;
/// The query of a wait.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seconds {
    /// How long to wait.
    pub seconds: Option<u64>,
}

/// A query; an unreadable one is rejected like an unreadable body.
pub type QueryResult<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

/// The query, or a problem document.
pub fn query<T>(asked: QueryResult<T>) -> Result<T, ApiProblem> {
    asked.map(|Query(asked)| asked).map_err(|error| ApiProblem::bad_request(error.body_text()))
}

/// The time to wait, within bounds.
pub fn wait_time(seconds: Option<u64>, usual: u64) -> Result<Duration, ApiProblem> {
    let seconds = seconds.unwrap_or(usual);
    if seconds > MAX_WAIT {
        return Err(ApiProblem::bad_request(format!("a wait may have at most {MAX_WAIT} seconds")));
    }
    Ok(Duration::from_secs(seconds))
}

/// An id from a path; anything that is not an id is not found.
pub fn id(text: &str) -> Result<Id, ApiProblem> {
    Id::parse(text).ok_or_else(not_found)
}

/// The same answer for a missing request and for another agent's.
pub fn not_found() -> ApiProblem {
    ApiProblem::not_found("request not found")
}

/// The document for the agent that asked.
pub fn for_agent(api: &Api, stored: &StoredRequest) -> serde_json::Value {
    let (rules, now) = (api.gate.rules(), api.gate.clock().now().at);
    // A permit says that a person or the rules approved the call. While the gate only observes,
    // only people approve: what they are asked about in a crisis waits for them in every mode.
    // None is signed while the store is not the one that was signed last.
    let signs = (rules.mode == Mode::Enforce || is_decided_by_people(stored))
        && api.gate.integrity().fault().is_none()
        && !api.gate.is_permit_void(stored)
        && !api.gate.is_suspended(stored);
    let keys = signs.then_some(&*api.keys);
    let mut document = document::for_agent(stored, keys, &rules.issuer, now);
    if let Some(members) = document.as_object_mut() {
        members.insert("notice".to_owned(), unanswered_notice(api, stored));
    }
    document
}

fn is_decided_by_people(stored: &StoredRequest) -> bool {
    let decision = stored.request.decision.as_ref();
    decision.is_some_and(|decision| matches!(decision.by, Decider::People(_)))
}

/// What the user is told when no person answered in a crisis, with the whole card again.
fn unanswered_notice(api: &Api, stored: &StoredRequest) -> serde_json::Value {
    let request = &stored.request;
    let all_paged = request.level == EscalationLevel::Emergency;
    let unanswered = match request.state {
        State::Pending => all_paged,
        State::Expired => true,
        State::Approved | State::Denied | State::Cancelled => false,
    };
    if !request.crisis || !unanswered {
        return serde_json::Value::Null;
    }
    json!(api.gate.crisis_notice(request.requester.name(), &stored.session))
}

/// A request of this agent; another agent's is not found.
pub async fn own(api: &Api, caller: &Caller, text: &str) -> Result<StoredRequest, ApiProblem> {
    let stored = api.gate.store().request(id(text)?).await?.ok_or_else(not_found)?;
    if stored.request.requester.is_agent(&caller.agent) { Ok(stored) } else { Err(not_found()) }
}

/// The document for people, with the deliveries of its announcements.
pub async fn for_people(
    api: &Api,
    stored: &StoredRequest,
) -> Result<serde_json::Value, ApiProblem> {
    let deliveries = api.gate.store().deliveries(stored.request.id).await?;
    let opinion = api.gate.judge().shown(stored).map(|opinion| opinion.document());
    Ok(document::for_people(stored, &deliveries, opinion.as_ref()))
}
