//! The original API: `/confirm`, `/respond` and `/pending`, with unchanged fields and status words.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use countersign_json::Value;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::context::{Context, Environment, Platform};
use countersign_store::{RequestQuery, Store as _, StoredRequest};
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Millis, Timestamp};
use countersign_workflow::request::{Decider, State as RequestState};
use serde_json::json;

use super::fields::{self, Fields};
use super::{Api, ApiProblem, ApiResult, authenticate};
use crate::gate::{CallSubmission, Caller, GateAnswer, JoinOptions};
use crate::listeners::Peer;

/// The status for calls that pass without a question.
const AUTO: &str = "auto_approved";

/// The deadlines of the original API, whatever the operator allows other callers.
const DEFAULT_DEADLINE: Millis = Millis::from_seconds(300);
const MAX_DEADLINE: Millis = Millis::from_seconds(600);

/// `POST /confirm`: asks, and answers when the request is decided.
pub async fn confirm(State(api): State<Api>, request: Request) -> ApiResult {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get().copied();
    confirm_request(api, parts, peer, body).await
}

/// Handles `/confirm` outside the router. The headers are read at once and dropped, because
/// thousands of callers may wait.
pub fn confirm_request<B>(
    api: Api,
    parts: Parts,
    peer: Option<Peer>,
    body: B,
) -> impl Future<Output = ApiResult> + Send + use<B>
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin,
{
    let caller = authenticate::confirm_agent(&api, &parts.headers, peer);
    let caller = caller.and_then(|caller| fields::is_json(&parts.headers).map(|()| caller));
    drop(parts);
    async move {
        let caller = caller?;
        let bytes = fields::read_body(body).await?;
        // Boxed, and dropped before the caller waits.
        let answer = Box::pin(submit(&api, &caller, bytes)).await?;
        let is_tokenless = Arc::ptr_eq(&caller, &api.anonymous);
        drop(caller);
        let ended = match answer {
            GateAnswer::Passed(passed) => return pass_response(passed.at),
            GateAnswer::Kept(stored) if stored.request.state != RequestState::Pending => stored,
            GateAnswer::Kept(stored) => Box::pin(wait_for_end(&api, stored, is_tokenless)).await?,
        };
        Ok(axum::Json(outcome(&ended)).into_response())
    }
}

/// Waits for the end of a request.
async fn wait_for_end(
    api: &Api,
    stored: Box<StoredRequest>,
    is_tokenless: bool,
) -> Result<Box<StoredRequest>, ApiProblem> {
    let _wait = is_tokenless.then(|| api.now.tokenless_waits.begin()).transpose()?;
    let (id, deadline) = (stored.request.id, stored.request.schedule.deadline);
    drop(stored);
    let left = api.gate.clock().now().at.until(deadline);
    // A little beyond the deadline: the deadline watch ends the request, not this handler.
    let patience = Duration::from_millis(left.0) + Duration::from_secs(30);
    Ok(Box::new(api.gate.wait_for_original_client(id, patience).await?))
}

/// The response for a call that passes.
fn pass_response(at: Timestamp) -> ApiResult {
    let id = crate::random::id(at)
        .map_err(|_| ApiProblem::from(crate::gate::Rejection::EntropyUnavailable))?;
    // Sent for almost every call, so the text is written directly; an id needs no escapes.
    let mut text = String::with_capacity(112);
    let _ = write!(text, "{{\"request_id\":\"{id}\",\"status\":\"{AUTO}\",");
    text.push_str("\"decided_by\":\"whitelist\"}");
    let mut response = Response::new(Body::from(text));
    // Room for the headers that every response has.
    *response.headers_mut() = HeaderMap::with_capacity(6);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// Submits the call in the body to the gate.
async fn submit(api: &Api, caller: &Caller, bytes: Bytes) -> Result<GateAnswer, ApiProblem> {
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let (action, description) = (fields.text("action")?, fields.text("description")?);
    let (Some(action), Some(description)) =
        (action.filter(|text| !text.is_empty()), description.filter(|text| !text.is_empty()))
    else {
        return Err(ApiProblem::bad_request("action and description required"));
    };
    let empty = Value::Object(Vec::new());
    let payload = fields.get("payload").unwrap_or(&empty);
    if payload.as_object().is_none() {
        return Err(ApiProblem::bad_request("`payload` must be an object"));
    }
    let claimed = fields.text("risk_level")?.map(claimed_tier).transpose()?;
    let session = fields.text("session_key")?.filter(|text| !text.is_empty());
    let time = fields.seconds("timeout")?.map(fields::span_from_seconds);
    let usual = api.gate.rules().times.default_timeout.min(DEFAULT_DEADLINE);
    let time = Some(time.unwrap_or(usual).min(MAX_DEADLINE));
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let raw = fields.raw_text("payload", text).unwrap_or("{}");
    let detail = || {
        json!({ "seed": { "action": action, "description": sanitized_description(description) } })
            .to_string()
    };
    let context = context(&fields)?;
    let projects = api.gate.find_projects(caller, &context, None).await;
    let submission = CallSubmission {
        projects,
        call: Call {
            tool: Cow::Borrowed(action),
            arguments: payload.reborrow(),
            agent: None,
            session: session.map(Cow::Borrowed),
            context,
            annotations: Annotations::default(),
            claimed,
            facts: None,
        },
        raw: raw.as_bytes(),
        time,
        key: None,
        group: None,
        permit: false,
        join: JoinOptions::default(),
        snapshot: None,
        detail: &detail,
    };
    Ok(api.gate.submit(submission, caller).await?)
}

/// Where the call would run, as far as the caller says.
fn context<'v>(fields: &Fields<'v, '_>) -> Result<Context<'v>, ApiProblem> {
    Ok(Context {
        platform: Platform::Api,
        environment: Environment::Workstation,
        cwd: fields.text("cwd")?,
        project: fields.text("project")?,
        host: fields.text("host")?,
        ..Context::default()
    })
}

/// The four fields of the original API. A pending request is not approved.
fn outcome(stored: &StoredRequest) -> serde_json::Value {
    let decision = stored.request.decision.as_ref();
    let by = decision.map(|decision| &decision.by);
    let status = match (stored.request.state, by) {
        (RequestState::Approved, Some(Decider::Policy | Decider::Grant(_) | Decider::Judge(_))) => {
            AUTO
        }
        (RequestState::Approved, _) => "approved",
        (RequestState::Denied | RequestState::Cancelled, _) => "denied",
        (RequestState::Expired, _) => "expired",
        (RequestState::Pending, _) => "pending",
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
        Some(Decider::Judge(model)) => format!("judge:{model}"),
        Some(Decider::Deadline) => "deadline".to_owned(),
        Some(Decider::Requester) => "agent".to_owned(),
        None => String::new(),
    }
}

/// The claimed risk. A claim can only raise the tier, so `low` changes nothing.
fn claimed_tier(word: &str) -> Result<Tier, ApiProblem> {
    Tier::parse(word)
        .ok_or_else(|| ApiProblem::bad_request("risk_level must be low, medium, high or critical"))
}

/// The agent's own description: shown as its claim, without secrets.
fn sanitized_description(description: &str) -> String {
    let plain = countersign_redact::redact_text(description);
    countersign_text::sanitize::sanitize_within(&plain.text, 2000).text.into_owned()
}

/// `GET /pending`: a person sees all requests, an agent its own.
pub async fn pending(State(api): State<Api>, request: Request) -> ApiResult {
    let agent = if authenticate::person(&api, request.headers()).is_ok() {
        None
    } else {
        let peer = request.extensions().get().copied();
        Some(authenticate::confirm_agent(&api, request.headers(), peer)?.agent.clone())
    };
    let query = RequestQuery {
        state: Some(RequestState::Pending),
        agent,
        limit: 500,
        ..RequestQuery::default()
    };
    let page = api.gate.store().find(query).await?;
    let now = api.gate.clock().now().at;
    let list: Vec<_> = page.requests.iter().map(|stored| pending_entry(stored, now)).collect();
    Ok(axum::Json(json!({ "pending": list })).into_response())
}

fn pending_entry(stored: &StoredRequest, now: Timestamp) -> serde_json::Value {
    let request = &stored.request;
    let detail: serde_json::Value = serde_json::from_str(&stored.detail).unwrap_or_default();
    let card: serde_json::Value = serde_json::from_str(&stored.card).unwrap_or_default();
    let seconds = |at: Timestamp| at.0 / 1000;
    let over = request.schedule.is_over(now);
    json!({
        "request_id": request.id,
        "action": stored.tool,
        "description": detail.pointer("/seed/description").unwrap_or(&json!(stored.brief)),
        "risk_level": request.tier.label().to_ascii_lowercase(),
        "payload": card.get("arguments"),
        "session_key": stored.session,
        "created_at": seconds(request.schedule.created),
        "expires_at": seconds(request.schedule.deadline),
        "status": request.state.label(),
        "decided_at": 0,
        "decided_by": "",
        "reason": "",
        "is_expired": over,
        "is_pending": !over,
    })
}
