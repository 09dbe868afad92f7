//! Agents: added and taken out by administrators.

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{delete, get, post};
use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_store::{Store as _, StoredAgent};
use countersign_types::time::{Clock as _, Span, Timestamp};
use serde_json::json;
use zeroize::Zeroizing;

use super::people::still_administrator;
use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, SteppedUp, who};
use crate::auth::{AGENT_TOKEN, agent_name};
use crate::chance;
use crate::gate::Rejection;

/// How long a token is good if nobody says how long, and at most.
const USUAL_DAYS: u32 = 365;
const MOST_DAYS: u32 = 3_650;
/// Own addresses of one agent, and the longest one.
const ADDRESSES: usize = 32;
const LONGEST_ADDRESS: usize = 320;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/agents", get(list).post(add))
        .route("/v1/agents/{name}", delete(revoke))
        .route("/v1/agents/{name}/token", post(change_token))
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> Answered {
    who::administrator(&api, &headers)?;
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

async fn add(State(api): State<Api>, proven: SteppedUp, request: Request) -> Answered {
    let who = who::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let name = said.needed_text("name")?.to_owned();
    let uid = said.get("uid").map(|uid| whole(uid, "uid")).transpose()?;
    let own_addresses = addresses(said.list("own_addresses")?)?;
    let days = said.get("days").map(|days| whole(days, "days")).transpose()?;
    said.finish()?;
    agent_name(&name)?;
    let token = fresh()?;
    let _changing = api.book.changing().await;
    still_administrator(&api, &parts.headers)?;
    let agents = api.gate.store().agents().await?;
    if agents.iter().any(|agent| agent.name.eq_ignore_ascii_case(&name)) {
        return Err(Problem::conflict("this name is or was an agent's; no name is given twice"));
    }
    let people = api.gate.store().people().await?;
    if people.iter().any(|person| person.name.eq_ignore_ascii_case(&name)) {
        return Err(Problem::conflict("this name is or was a person's; choose another one"));
    }
    let taken =
        |agent: &StoredAgent| agent.revoked.is_none() && agent.uid.is_some() && agent.uid == uid;
    if agents.iter().any(taken) {
        return Err(Problem::conflict("another agent comes with this uid"));
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
    api.gate.store().save_agent(agent.clone(), proven.note(&api, &who.person)).await?;
    api.book.read(api.gate.store()).await?;
    let body = with_token(&agent, &token);
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

/// The document with the token, which is told once and kept nowhere.
fn with_token(agent: &StoredAgent, token: &str) -> serde_json::Value {
    let mut document = document(agent);
    if let Some(members) = document.as_object_mut() {
        members.insert("token".to_owned(), json!(token));
    }
    document
}

fn fresh() -> Result<Zeroizing<String>, Problem> {
    let token = chance::secret(AGENT_TOKEN).map_err(|_| Problem::from(Rejection::NoChance))?;
    Ok(Zeroizing::new(token))
}

fn expiry(now: Timestamp, days: Option<u32>) -> Result<Timestamp, Problem> {
    let days = days.unwrap_or(USUAL_DAYS);
    if !(1..=MOST_DAYS).contains(&days) {
        return Err(Problem::bad(format!("`days` must be 1 to {MOST_DAYS}")));
    }
    Ok(now.plus(Span(u64::from(days) * 86_400_000)))
}

fn whole(value: &Value<'_>, name: &str) -> Result<u32, Problem> {
    let number = value.as_number().and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| Problem::bad(format!("`{name}` must be a whole number")))
}

fn addresses(list: Option<&[Value<'_>]>) -> Result<Vec<String>, Problem> {
    let list = list.unwrap_or_default();
    let fits = |text: &&str| (1..=LONGEST_ADDRESS).contains(&text.len());
    let texts: Option<Vec<String>> =
        list.iter().map(|text| text.as_str().filter(fits).map(ToOwned::to_owned)).collect();
    texts
        .filter(|texts| texts.len() <= ADDRESSES)
        .ok_or_else(|| Problem::bad(format!("`own_addresses` must be at most {ADDRESSES} texts")))
}

async fn find(api: &Api, name: &str) -> Result<StoredAgent, Problem> {
    let agents = api.gate.store().agents().await?;
    let found = agents.into_iter().find(|agent| agent.name == name && agent.revoked.is_none());
    found.ok_or_else(|| Problem::not_found("there is no such agent"))
}

async fn revoke(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: SteppedUp,
    headers: HeaderMap,
) -> Answered {
    let who = who::administrator(&api, &headers)?;
    let _changing = api.book.changing().await;
    still_administrator(&api, &headers)?;
    let mut agent = find(&api, &name).await?;
    let at = api.gate.clock().now().at;
    agent.revoked = Some(at);
    api.gate.store().save_agent(agent, proven.note(&api, &who.person)).await?;
    api.book.strike_agent(&name);
    api.book.read(api.gate.store()).await?;
    Ok(axum::Json(json!({ "name": name, "revoked": at })).into_response())
}

/// A new token; the old one ends with it.
async fn change_token(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: SteppedUp,
    request: Request,
) -> Answered {
    let who = who::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let days = said.get("days").map(|days| whole(days, "days")).transpose()?;
    said.finish()?;
    let token = fresh()?;
    let _changing = api.book.changing().await;
    still_administrator(&api, &parts.headers)?;
    let mut agent = find(&api, &name).await?;
    agent.expires = Some(expiry(api.gate.clock().now().at, days)?);
    agent.token = Some(Digest::of(token.as_bytes()));
    api.gate.store().save_agent(agent.clone(), proven.note(&api, &who.person)).await?;
    api.book.strike_agent(&name);
    api.book.read(api.gate.store()).await?;
    Ok(axum::Json(with_token(&agent, &token)).into_response())
}
