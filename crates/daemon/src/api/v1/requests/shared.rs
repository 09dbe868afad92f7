//! What several routes about requests have in common: queries, waits, ids and documents.

use std::time::Duration;

use axum::extract::Query;
use countersign_store::{Store as _, Stored};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use serde::Deserialize;

use crate::api::v1::document;
use crate::api::{Api, ApiProblem};
use crate::gate::Caller;

/// The longest wait in one request; who waits longer asks again.
const MAX_WAIT: u64 = 600;
/// The usual wait.
pub const DEFAULT_WAIT: u64 = 30;
/// How long a caller waits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seconds {
    /// So long.
    pub seconds: Option<u64>,
}

/// A query that cannot be read is refused like a body that cannot.
pub type QueryResult<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

/// What a query asks for.
pub fn query<T>(asked: QueryResult<T>) -> Result<T, ApiProblem> {
    asked.map(|Query(asked)| asked).map_err(|error| ApiProblem::bad_request(error.body_text()))
}

/// How long to wait, within bounds.
pub fn wait_time(seconds: Option<u64>, usual: u64) -> Result<Duration, ApiProblem> {
    let seconds = seconds.unwrap_or(usual);
    if seconds > MAX_WAIT {
        return Err(ApiProblem::bad_request(format!("a wait may be at most {MAX_WAIT} seconds")));
    }
    Ok(Duration::from_secs(seconds))
}

/// An id from a path; what is no id is no request either.
pub fn id(text: &str) -> Result<Id, ApiProblem> {
    Id::parse(text).ok_or_else(not_found)
}

/// The same answer for what is not there and what is another agent's.
pub fn not_found() -> ApiProblem {
    ApiProblem::not_found("there is no such request")
}

/// The document for the agent that asked.
pub fn for_agent(api: &Api, stored: &Stored) -> serde_json::Value {
    let now = api.gate.clock().now().at;
    document::for_agent(stored, &api.keys, &api.gate.rules().issuer, now)
}

/// A request of this agent; another's does not exist for it.
pub async fn own(api: &Api, caller: &Caller, text: &str) -> Result<Stored, ApiProblem> {
    let stored = api.gate.store().request(id(text)?).await?.ok_or_else(not_found)?;
    if stored.request.requester.is_agent(&caller.agent) { Ok(stored) } else { Err(not_found()) }
}

/// The document for people, with how announcements went.
pub async fn for_people(api: &Api, stored: &Stored) -> Result<serde_json::Value, ApiProblem> {
    let deliveries = api.gate.store().deliveries(stored.request.id).await?;
    Ok(document::for_people(stored, &deliveries))
}
