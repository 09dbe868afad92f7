//! Agents: added and revoked by administrators.

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{delete, get, post};
use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_store::{Store as _, StoredAgent};
use countersign_types::time::{Clock as _, Millis, Timestamp};
use serde_json::json;
use zeroize::Zeroizing;

use super::people::check_administrator;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::auth::{AGENT_TOKEN, agent_name};
use crate::gate::Rejection;
use crate::random;

/// How long a token is valid by default, and at most.
const DEFAULT_DAYS: u32 = 365;
const MAX_DAYS: u32 = 3_650;
/// The most own addresses of an agent, and the longest one.
const MAX_ADDRESSES: usize = 32;
const MAX_ADDRESS: usize = 320;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/agents", get(list).post(add))
        .route("/v1/agents/{name}", delete(revoke))
        .route("/v1/agents/{name}/token", post(change_token))
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::administrator(&api, &headers)?;
    let agents = api.gate.store().agents().await?;
    let agents: Vec<_> = agents.iter().map(document).collect();
    Ok(axum::Json(json!({ "agents": agents })).into_response())
}

fn document(agent: &StoredAgent) -> serde_json::Value {
    json!({
        "name": agent.name, "uid": agent.uid, "own_addresses": agent.own_addresses,
        "added": agent.added, "expires": agent.expires, "revoked": agent.revoked,
        "has_token": agent.token.is_some(),
    })
}

async fn add(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let name = fields.required_text("name")?.to_owned();
    let uid = fields.get("uid").map(|uid| integer(uid, "uid")).transpose()?;
    let own_addresses = addresses(fields.list("own_addresses")?)?;
    let days = fields.get("days").map(|days| integer(days, "days")).transpose()?;
    fields.finish()?;
    agent_name(&name)?;
    let token = new_token()?;
    let _changing = api.directory.lock_changes().await;
    check_administrator(&api, &parts.headers)?;
    let agents = api.gate.store().agents().await?;
    if agents.iter().any(|agent| agent.name.eq_ignore_ascii_case(&name)) {
        return Err(ApiProblem::conflict(
            "this name is or was used by an agent; choose another name",
        ));
    }
    let people = api.gate.store().people().await?;
    if people.iter().any(|person| person.name.eq_ignore_ascii_case(&name)) {
        return Err(ApiProblem::conflict(
            "this name is or was used by a person; choose another name",
        ));
    }
    let taken =
        |agent: &StoredAgent| agent.revoked.is_none() && agent.uid.is_some() && agent.uid == uid;
    if agents.iter().any(taken) {
        return Err(ApiProblem::conflict("another agent has this uid"));
    }
    let now = api.gate.clock().now().at;
    let agent = StoredAgent {
        name,
        token: Some(Digest::of(token.as_bytes())),
        uid,
        own_addresses,
        added: now,
        expires: Some(expiry(now, days)?),
        revoked: None,
    };
    api.gate.store().save_agent(agent.clone(), proven.note(&api, &identity.person)).await?;
    api.directory.reload(api.gate.store()).await?;
    let body = with_token(&agent, &token);
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

/// The document with the token, which is returned once and not stored.
fn with_token(agent: &StoredAgent, token: &str) -> serde_json::Value {
    let mut document = document(agent);
    if let Some(members) = document.as_object_mut() {
        members.insert("token".to_owned(), json!(token));
    }
    document
}

fn new_token() -> Result<Zeroizing<String>, ApiProblem> {
    let token =
        random::secret(AGENT_TOKEN).map_err(|_| ApiProblem::from(Rejection::EntropyUnavailable))?;
    Ok(Zeroizing::new(token))
}

fn expiry(now: Timestamp, days: Option<u32>) -> Result<Timestamp, ApiProblem> {
    let days = days.unwrap_or(DEFAULT_DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(ApiProblem::bad_request(format!("`days` must be 1 to {MAX_DAYS}")));
    }
    Ok(now.plus(Millis(u64::from(days) * 86_400_000)))
}

fn integer(value: &Value<'_>, name: &str) -> Result<u32, ApiProblem> {
    let number = value.as_number().and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| ApiProblem::bad_request(format!("`{name}` must be an integer")))
}

fn addresses(list: Option<&[Value<'_>]>) -> Result<Vec<String>, ApiProblem> {
    let list = list.unwrap_or_default();
    let fits = |text: &&str| (1..=MAX_ADDRESS).contains(&text.len());
    let texts: Option<Vec<String>> =
        list.iter().map(|text| text.as_str().filter(fits).map(ToOwned::to_owned)).collect();
    texts.filter(|texts| texts.len() <= MAX_ADDRESSES).ok_or_else(|| {
        ApiProblem::bad_request(format!(
            "`own_addresses` must be a list of at most {MAX_ADDRESSES} strings"
        ))
    })
}

async fn find(api: &Api, name: &str) -> Result<StoredAgent, ApiProblem> {
    let agents = api.gate.store().agents().await?;
    let found = agents.into_iter().find(|agent| agent.name == name && agent.revoked.is_none());
    found.ok_or_else(|| ApiProblem::not_found("agent not found"))
}

async fn revoke(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: StepUpProof,
    headers: HeaderMap,
) -> ApiResult {
    let identity = authenticate::administrator(&api, &headers)?;
    let _changing = api.directory.lock_changes().await;
    check_administrator(&api, &headers)?;
    let mut agent = find(&api, &name).await?;
    let at = api.gate.clock().now().at;
    agent.revoked = Some(at);
    api.gate.store().save_agent(agent, proven.note(&api, &identity.person)).await?;
    api.directory.remove_agent(&name);
    api.directory.reload(api.gate.store()).await?;
    Ok(axum::Json(json!({ "name": name, "revoked": at })).into_response())
}

/// Replaces the token; the old one is revoked at once.
async fn change_token(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: StepUpProof,
    request: Request,
) -> ApiResult {
    let identity = authenticate::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let days = fields.get("days").map(|days| integer(days, "days")).transpose()?;
    fields.finish()?;
    let token = new_token()?;
    let _changing = api.directory.lock_changes().await;
    check_administrator(&api, &parts.headers)?;
    let mut agent = find(&api, &name).await?;
    agent.expires = Some(expiry(api.gate.clock().now().at, days)?);
    agent.token = Some(Digest::of(token.as_bytes()));
    api.gate.store().save_agent(agent.clone(), proven.note(&api, &identity.person)).await?;
    api.directory.remove_agent(&name);
    api.directory.reload(api.gate.store()).await?;
    Ok(axum::Json(with_token(&agent, &token)).into_response())
}
