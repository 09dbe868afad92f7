//! Requests: asked, read, waited for, taken back.

mod ask;
mod list;

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use countersign_store::{Store as _, StoredRequest};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use countersign_workflow::request::State as Stands;
use serde::Deserialize;

use super::document;
use super::reports::{self, Report};
use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, who};
use crate::doors::Peer;
use crate::gate::Caller;

pub use ask::{
    Asking, Extra, Wanted, ask, call_id, idempotency_key, name, plain_words, read, read_call,
};
use list::{list_all, list_own};

/// The longest wait in one request; who waits longer asks again.
const LONGEST_WAIT: u64 = 600;
/// The usual wait.
pub const USUAL_WAIT: u64 = 30;
/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new()
        .route("/v1/requests", post(create).get(list_own))
        .route("/v1/requests/{id}", get(read_own))
        .route("/v1/requests/{id}/wait", get(wait_own))
        .route("/v1/requests/{id}/cancel", post(cancel))
        .route("/v1/requests/{id}/outcome", post(outcome))
}

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/requests", get(list_all))
        .route("/v1/requests/{id}", get(read_any))
        .route("/v1/requests/{id}/wait", get(wait_any))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wait {
    wait: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
/// How long a caller waits.
pub struct Seconds {
    /// So long.
    pub seconds: Option<u64>,
}

/// A query that cannot be read is refused like a body that cannot.
pub type Asked<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

/// What a query asks for.
pub fn query<T>(asked: Asked<T>) -> Result<T, Problem> {
    asked.map(|Query(asked)| asked).map_err(|error| Problem::bad(error.body_text()))
}

/// How long to wait, within bounds.
pub fn patience(seconds: Option<u64>, usual: u64) -> Result<Duration, Problem> {
    let seconds = seconds.unwrap_or(usual);
    if seconds > LONGEST_WAIT {
        return Err(Problem::bad(format!("a wait may be at most {LONGEST_WAIT} seconds")));
    }
    Ok(Duration::from_secs(seconds))
}

/// An id from a path; what is no id is no request either.
pub fn id(text: &str) -> Result<Id, Problem> {
    Id::parse(text).ok_or_else(no_such)
}

/// The same answer for what is not there and what is another agent's.
pub fn no_such() -> Problem {
    Problem::not_found("there is no such request")
}

async fn create(State(api): State<Api>, request: Request) -> Answered {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get().copied();
    create_now(api, parts, peer, body).await
}

/// Asks about one call, straight from the door.
pub async fn create_now<B>(api: Api, parts: Parts, peer: Option<Peer>, body: B) -> Answered
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    let wait = match parts.uri.query() {
        Some(_) => query(Query::<Wait>::try_from_uri(&parts.uri))?.wait,
        None => None,
    };
    let wait = patience(wait, 0)?;
    let caller = who::agent_by(&api, &parts.headers, peer)?;
    let key = idempotency_key(&parts.headers)?;
    let bytes = fields::body(&parts.headers, body).await?;
    // Whoever waits for a person keeps nothing of what it sent: thousands may wait.
    drop(parts);
    let (status, stored) = match asked(&api, &caller, bytes, key).await? {
        Asking::Passed(document) => return Ok(axum::Json(document).into_response()),
        Asking::New(stored) => (StatusCode::CREATED, stored),
        Asking::Known(stored) => (StatusCode::OK, stored),
    };
    let stored = if wait.is_zero() || stored.request.state.has_ended() {
        *stored
    } else {
        let id = stored.request.id;
        drop((stored, caller));
        api.gate.wait_as_agent(id, wait).await?
    };
    Ok(located(&api, status, &stored))
}

async fn asked(
    api: &Api,
    caller: &Caller,
    bytes: Bytes,
    key: Option<String>,
) -> Result<Asking, Problem> {
    let value = fields::parse(&bytes)?;
    let wanted = read(&value, std::str::from_utf8(&bytes).unwrap_or_default())?;
    ask(api, caller, wanted, Extra { key, ..Extra::default() }).await
}

fn located(api: &Api, status: StatusCode, stored: &StoredRequest) -> Response {
    let document = for_agent(api, stored);
    let mut response = (status, axum::Json(document)).into_response();
    if let Ok(place) = HeaderValue::try_from(format!("/v1/requests/{}", stored.request.id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

/// The document for the agent that asked.
pub fn for_agent(api: &Api, stored: &StoredRequest) -> serde_json::Value {
    let now = api.gate.clock().now().at;
    document::for_agent(stored, &api.keys, &api.gate.rules().issuer, now)
}

/// A request of this agent; another's does not exist for it.
pub async fn own(api: &Api, caller: &Caller, text: &str) -> Result<StoredRequest, Problem> {
    let stored = api.gate.store().request(id(text)?).await?.ok_or_else(no_such)?;
    if stored.request.requester.is_agent(&caller.agent) { Ok(stored) } else { Err(no_such()) }
}

async fn read_own(State(api): State<Api>, Path(id): Path<String>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let stored = own(&api, &caller, &id).await?;
    Ok(axum::Json(for_agent(&api, &stored)).into_response())
}

async fn wait_own(
    State(api): State<Api>,
    Path(id): Path<String>,
    asked: Asked<Seconds>,
    request: Request,
) -> Answered {
    let caller = who::agent(&api, &request)?;
    let patience = patience(query(asked)?.seconds, USUAL_WAIT)?;
    let stored = own(&api, &caller, &id).await?;
    let stored = match stored.request.state {
        Stands::Pending => api.gate.wait_as_agent(stored.request.id, patience).await?,
        _ => stored,
    };
    Ok(axum::Json(for_agent(&api, &stored)).into_response())
}

async fn cancel(State(api): State<Api>, Path(id): Path<String>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    Fields::of(&fields::parse(&bytes)?)?.finish()?;
    let stored = own(&api, &caller, &id).await?;
    let applied = api.gate.cancel(stored.request.id, &caller).await?;
    Ok(axum::Json(for_agent(&api, &applied.stored)).into_response())
}

async fn outcome(State(api): State<Api>, Path(id): Path<String>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let report = Report::read(&said)?;
    said.finish()?;
    let stored = own(&api, &caller, &id).await?;
    let kept = reports::keep(&api, &caller, stored.request.id, report).await?;
    Ok(axum::Json(for_agent(&api, &kept)).into_response())
}

async fn read_any(
    State(api): State<Api>,
    Path(text): Path<String>,
    headers: HeaderMap,
) -> Answered {
    who::person(&api, &headers)?;
    let stored = api.gate.store().request(id(&text)?).await?.ok_or_else(no_such)?;
    Ok(axum::Json(for_people(&api, &stored).await?).into_response())
}

async fn wait_any(
    State(api): State<Api>,
    Path(text): Path<String>,
    headers: HeaderMap,
    asked: Asked<Seconds>,
) -> Answered {
    who::person(&api, &headers)?;
    let patience = patience(query(asked)?.seconds, USUAL_WAIT)?;
    let id = id(&text)?;
    api.gate.store().request(id).await?.ok_or_else(no_such)?;
    let stored = api.gate.wait(id, patience).await?;
    Ok(axum::Json(for_people(&api, &stored).await?).into_response())
}

/// The document for people, with how announcements went.
pub async fn for_people(api: &Api, stored: &StoredRequest) -> Result<serde_json::Value, Problem> {
    let deliveries = api.gate.store().deliveries(stored.request.id).await?;
    Ok(document::for_people(stored, &deliveries))
}
