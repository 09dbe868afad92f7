//! Requests: submitted, read, waited for, cancelled.

mod ask;
mod facts;
mod list;
mod projects;
mod shared;
mod snapshot;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use countersign_store::{Store as _, StoredRequest};
use countersign_workflow::request::State as RequestState;
use serde::Deserialize;

use super::reports::{self, OutcomeReport};
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::gate::{Caller, Rejection};
use crate::listeners::Peer;

pub use ask::{
    AskExtras, AskResult, ParsedQuestion, ask, call_id, check_length, idempotency_key, read,
    read_call, sanitize_text,
};
pub use projects::observed_projects;
pub use shared::{
    DEFAULT_WAIT, QueryResult, Seconds, for_agent, for_people, id, not_found, own, query, wait_time,
};

pub use snapshot::snapshot;

use list::{list_all, list_own};

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new()
        .route("/v1/requests", post(create).get(list_own))
        .route("/v1/requests/{id}", get(read_own))
        .route("/v1/requests/{id}/wait", get(wait_own))
        .route("/v1/requests/{id}/cancel", post(cancel))
        .route("/v1/requests/{id}/outcome", post(outcome))
}

/// The routes of the people API.
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

async fn create(State(api): State<Api>, request: Request) -> ApiResult {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get().copied();
    create_request(api, parts, peer, body).await
}

/// Submits one call, outside the router.
pub async fn create_request<B>(api: Api, parts: Parts, peer: Option<Peer>, body: B) -> ApiResult
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    let wait = match parts.uri.query() {
        Some(_) => query(Query::<Wait>::try_from_uri(&parts.uri))?.wait,
        None => None,
    };
    let wait = wait_time(wait, 0)?;
    let caller = authenticate::agent_from_headers(&api, &parts.headers, peer)?;
    let key = idempotency_key(&parts.headers)?;
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    // A caller that waits keeps nothing of what it sent, because thousands may wait.
    drop(parts);
    let (status, stored) = match submit(&api, &caller, bytes, key).await? {
        AskResult::Passed(document) => return Ok(axum::Json(document).into_response()),
        AskResult::New(stored) => (StatusCode::CREATED, stored),
        AskResult::Known(stored) => (StatusCode::OK, stored),
    };
    let stored = if wait.is_zero() || stored.request.state.has_ended() {
        *stored
    } else {
        let id = stored.request.id;
        drop((stored, caller));
        api.gate.wait_for_agent(id, wait).await?
    };
    Ok(created_response(&api, status, &stored))
}

async fn submit(
    api: &Api,
    caller: &Caller,
    bytes: Bytes,
    key: Option<String>,
) -> Result<AskResult, ApiProblem> {
    let value = fields::parse(&bytes)?;
    let question = read(&value, std::str::from_utf8(&bytes).unwrap_or_default())?;
    ask(api, caller, question, AskExtras { key, ..AskExtras::default() }).await
}

fn created_response(api: &Api, status: StatusCode, stored: &StoredRequest) -> Response {
    let document = for_agent(api, stored);
    let mut response = (status, axum::Json(document)).into_response();
    if let Ok(place) = HeaderValue::try_from(format!("/v1/requests/{}", stored.request.id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

async fn read_own(State(api): State<Api>, Path(id): Path<String>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let stored = own(&api, &caller, &id).await?;
    check_freeze(&api, &stored)?;
    Ok(axum::Json(for_agent(&api, &stored)).into_response())
}

/// After a freeze, an approval from before that no one used yet does not count.
fn check_freeze(api: &Api, stored: &StoredRequest) -> Result<(), Rejection> {
    if stored.redeemed.is_none() { api.gate.check_approval(stored) } else { Ok(()) }
}

async fn wait_own(
    State(api): State<Api>,
    Path(id): Path<String>,
    asked: QueryResult<Seconds>,
    request: Request,
) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let wait_time = wait_time(query(asked)?.seconds, DEFAULT_WAIT)?;
    let stored = own(&api, &caller, &id).await?;
    let stored = match stored.request.state {
        RequestState::Pending => api.gate.wait_for_agent(stored.request.id, wait_time).await?,
        _ => stored,
    };
    check_freeze(&api, &stored)?;
    Ok(axum::Json(for_agent(&api, &stored)).into_response())
}

async fn cancel(State(api): State<Api>, Path(id): Path<String>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    Fields::new(&fields::parse(&bytes)?)?.finish()?;
    let stored = own(&api, &caller, &id).await?;
    let applied = api.gate.cancel(stored.request.id, &caller).await?;
    Ok(axum::Json(for_agent(&api, &applied.stored)).into_response())
}

async fn outcome(State(api): State<Api>, Path(id): Path<String>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let report = OutcomeReport::read(&fields)?;
    fields.finish()?;
    let stored = own(&api, &caller, &id).await?;
    let kept = reports::keep(&api, &caller, stored.request.id, report).await?;
    Ok(axum::Json(for_agent(&api, &kept)).into_response())
}

async fn read_any(
    State(api): State<Api>,
    Path(text): Path<String>,
    headers: HeaderMap,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let stored = api.gate.store().request(id(&text)?).await?.ok_or_else(not_found)?;
    Ok(axum::Json(for_people(&api, &stored).await?).into_response())
}

async fn wait_any(
    State(api): State<Api>,
    Path(text): Path<String>,
    headers: HeaderMap,
    asked: QueryResult<Seconds>,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let wait_time = wait_time(query(asked)?.seconds, DEFAULT_WAIT)?;
    let id = id(&text)?;
    api.gate.store().request(id).await?.ok_or_else(not_found)?;
    let stored = api.gate.wait(id, wait_time).await?;
    Ok(axum::Json(for_people(&api, &stored).await?).into_response())
}
