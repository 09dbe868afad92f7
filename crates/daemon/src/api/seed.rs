//! The seed's API: its fields, its words, and none of its holes.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use countersign_json::Value;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::context::{Context, Environment, Platform};
use countersign_store::{RequestQuery, Store as _, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::{Choice, Decider, Event, State as Stands};
use serde_json::json;

use super::fields::{self, Fields};
use super::{Answered, Api, Problem, who};
use crate::doors::Peer;
use crate::gate::{Answer, Caller, Join, Question};

/// The seed's word for what nobody had to be asked about.
const AUTO: &str = "auto_approved";

/// `POST /confirm`: asks, and answers when it is decided.
pub async fn confirm(State(api): State<Api>, request: Request) -> Answered {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get().copied();
    confirm_now(api, parts, peer, body).await
}

/// The same straight from the door. The head is read at once and let go: thousands may wait.
pub fn confirm_now<B>(
    api: Api,
    parts: Parts,
    peer: Option<Peer>,
    body: B,
) -> impl Future<Output = Answered> + Send + use<B>
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin,
{
    let caller = who::seed_agent(&api, &parts.headers, peer);
    let caller = caller.and_then(|caller| fields::is_json(&parts.headers).map(|()| caller));
    drop(parts);
    async move {
        let caller = caller?;
        let bytes = fields::whole_body(body).await?;
        // Apart, and gone before anybody waits.
        let answer = Box::pin(asked(&api, &caller, bytes)).await?;
        drop(caller);
        let ended = match answer {
            Answer::Passed(passed) => return passes(passed.at),
            Answer::Kept(stored) if stored.request.state != Stands::Pending => stored,
            Answer::Kept(stored) => Box::pin(end(&api, stored)).await?,
        };
        Ok(axum::Json(outcome(&ended)).into_response())
    }
}

/// Waits for the end of a request.
async fn end(api: &Api, stored: Box<StoredRequest>) -> Result<Box<StoredRequest>, Problem> {
    let (id, deadline) = (stored.request.id, stored.request.plan.deadline);
    drop(stored);
    let left = api.gate.clock().now().at.until(deadline);
    // A little beyond the deadline: the watch ends it, not this handler.
    let patience = Duration::from_millis(left.0) + Duration::from_secs(30);
    Ok(Box::new(api.gate.wait_as_agent(id, patience).await?))
}

/// What the seed says about a call that passes.
fn passes(at: Timestamp) -> Answered {
    let id = crate::chance::id(at).map_err(|_| Problem::from(crate::gate::Rejection::NoChance))?;
    // Said for almost every call, so it is written straight; an id needs no escapes.
    let mut text = String::with_capacity(112);
    let _ = write!(text, "{{\"request_id\":\"{id}\",\"status\":\"{AUTO}\",");
    text.push_str("\"decided_by\":\"whitelist\"}");
    let mut response = Response::new(Body::from(text));
    // With the headers that every answer has.
    *response.headers_mut() = HeaderMap::with_capacity(6);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// Asks the gate what the body asks.
async fn asked(api: &Api, caller: &Caller, bytes: Bytes) -> Result<Answer, Problem> {
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let (action, description) = (said.text("action")?, said.text("description")?);
    let (Some(action), Some(description)) =
        (action.filter(|text| !text.is_empty()), description.filter(|text| !text.is_empty()))
    else {
        return Err(Problem::bad("action and description required"));
    };
    let empty = Value::Object(Vec::new());
    let payload = said.get("payload").unwrap_or(&empty);
    if payload.as_object().is_none() {
        return Err(Problem::bad("`payload` must be an object"));
    }
    let claimed = said.text("risk_level")?.map(claimed).transpose()?;
    let session = said.text("session_key")?.filter(|text| !text.is_empty());
    let time = said.seconds("timeout")?.map(fields::span);
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let raw = said.as_it_came("payload", text).unwrap_or("{}");
    let detail = || {
        json!({ "seed": { "action": action, "description": described(description) } }).to_string()
    };
    let question = Question {
        call: Call {
            tool: Cow::Borrowed(action),
            arguments: payload.reborrow(),
            agent: None,
            session: session.map(Cow::Borrowed),
            context: Context {
                platform: Platform::Api,
                environment: Environment::Workstation,
                ..Context::default()
            },
            annotations: Annotations::default(),
            claimed,
        },
        raw: raw.as_bytes(),
        time,
        key: None,
        group: None,
        permit: false,
        join: Join::default(),
        detail: &detail,
    };
    Ok(api.gate.submit(question, caller).await?)
}

/// The seed's four fields. What is still pending is not approved.
fn outcome(stored: &StoredRequest) -> serde_json::Value {
    let decision = stored.request.decision.as_ref();
    let by = decision.map(|decision| &decision.by);
    let status = match (stored.request.state, by) {
        (Stands::Approved, Some(Decider::Policy | Decider::Grant(_))) => AUTO,
        (Stands::Approved, _) => "approved",
        (Stands::Denied | Stands::Cancelled, _) => "denied",
        (Stands::Expired, _) => "expired",
        (Stands::Pending, _) => "pending",
    };
    json!({
        "request_id": stored.request.id,
        "status": status,
        "decided_by": decided_by(by),
        "reason": decision.map_or("", |decision| &decision.reason),
    })
}

fn decided_by(by: Option<&Decider>) -> String {
    match by {
        Some(Decider::People(people)) => people.join(", "),
        Some(Decider::Grant(id)) => format!("grant:{id}"),
        Some(Decider::Policy) => "whitelist".to_owned(),
        Some(Decider::Deadline) => "deadline".to_owned(),
        Some(Decider::Requester) => "agent".to_owned(),
        None => String::new(),
    }
}

/// The seed's words for risk. A claim may only raise, so `low` changes nothing.
fn claimed(word: &str) -> Result<Tier, Problem> {
    Tier::parse(word)
        .ok_or_else(|| Problem::bad("risk_level must be low, medium, high or critical"))
}

/// The agent's own description: shown, but never believed, and without secrets.
fn described(description: &str) -> String {
    let plain = countersign_redact::redact_text(description);
    countersign_text::sanitize::show_within(&plain.text, 2000).text.into_owned()
}

/// `POST /respond`: a person answers. Who decided is who proved it, whatever the body says.
pub async fn respond(State(api): State<Api>, request: Request) -> Answered {
    let who = who::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let id = said.text("request_id")?.filter(|text| !text.is_empty());
    let approved = said.flag("approved")?;
    let (Some(id), Some(approved)) = (id, approved) else {
        return Err(Problem::bad("request_id and approved required"));
    };
    let id = Id::parse(id).ok_or_else(|| Problem::not_found("unknown request"))?;
    let stored = api.gate.store().request(id).await?;
    let stored = stored.ok_or_else(|| Problem::not_found("unknown request"))?;
    let standing = (api.standing(&who.person), api.gate.rules().needs);
    let event = Event::Answer {
        person: who.person,
        choice: if approved { Choice::Approve } else { Choice::Deny },
        // The seed's answers name no digest: they speak of the request as it was asked.
        seen: stored.request.digest,
        edited: None,
        channel: who.channel,
        reason: said.text("reason")?.unwrap_or_default().to_owned(),
        standing,
    };
    let note = WriteContext { policy: api.gate.rules().hash, facts: None, edited: None };
    let applied = api.gate.decide(id, event, note).await?;
    let status = applied.stored.request.state.label();
    Ok((StatusCode::OK, axum::Json(json!({ "request_id": id, "status": status }))).into_response())
}

/// `GET /pending`: a person sees all, an agent its own.
pub async fn pending(State(api): State<Api>, request: Request) -> Answered {
    let agent = if who::person(&api, request.headers()).is_ok() {
        None
    } else {
        let peer = request.extensions().get().copied();
        Some(who::seed_agent(&api, request.headers(), peer)?.agent.clone())
    };
    let query =
        RequestQuery { state: Some(Stands::Pending), agent, limit: 500, ..RequestQuery::default() };
    let page = api.gate.store().find(query).await?;
    let now = api.gate.clock().now().at;
    let list: Vec<_> = page.requests.iter().map(|stored| entry(stored, now)).collect();
    Ok(axum::Json(json!({ "pending": list })).into_response())
}

fn entry(stored: &StoredRequest, now: Timestamp) -> serde_json::Value {
    let request = &stored.request;
    let detail: serde_json::Value = serde_json::from_str(&stored.detail).unwrap_or_default();
    let card: serde_json::Value = serde_json::from_str(&stored.card).unwrap_or_default();
    let seconds = |at: Timestamp| at.0 / 1000;
    let over = request.plan.is_over(now);
    json!({
        "request_id": request.id,
        "action": stored.tool,
        "description": detail.pointer("/seed/description").unwrap_or(&json!(stored.brief)),
        "risk_level": request.tier.label().to_ascii_lowercase(),
        "payload": card.get("arguments"),
        "session_key": stored.session,
        "created_at": seconds(request.plan.created),
        "expires_at": seconds(request.plan.deadline),
        "status": request.state.label(),
        "decided_at": 0,
        "decided_by": "",
        "reason": "",
        "is_expired": over,
        "is_pending": !over,
    })
}
