//! Sessions in a crisis: listed and resolved by people, never by agents.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_redact::redact_text;
use countersign_store::{CrisisSession, Store as _};
use countersign_types::time::Clock as _;
use serde_json::{Value, json};

use super::{requests, screen};
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};

/// The longest message to the user, in characters.
const MAX_MESSAGE: usize = 4_000;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/crises", get(list))
        .route("/v1/crises/lift", post(lift))
        .route("/v1/crises/take-over", post(take_over))
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let list = api.gate.crises().list();
    let list: Vec<Value> = list.iter().map(|crisis| document(&api, crisis)).collect();
    Ok(axum::Json(json!({ "crises": list })).into_response())
}

fn document(api: &Api, crisis: &CrisisSession) -> Value {
    let (agent, session) = (crisis.agent.as_str(), crisis.session.as_str());
    let takeover = api.gate.crises().takeover(agent, Some(session));
    let (turns, now) = (api.gate.crisis_turns(), api.gate.clock().now().at);
    json!({
        "agent": agent, "session": session, "level": crisis.level,
        "imminent": crisis.imminent, "since": crisis.since,
        "taken_over_by": takeover.as_ref().map(|takeover| &takeover.person),
        "taken_over_at": takeover.as_ref().map(|takeover| takeover.at),
        "turns": turns.turns(agent, session, now),
        "messages": turns.messages(agent, session, now),
    })
}

/// `POST /v1/crises/take-over`: the agent's texts are refused, and the person writes to the user.
/// Each message needs a proof: a stolen session must not write to a person in a crisis.
async fn take_over(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let agent = fields.required_text("agent")?;
    let session = fields.text("session")?.unwrap_or_default();
    let message = fields.text("message")?.filter(|text| !text.trim().is_empty());
    fields.finish()?;
    requests::check_length("agent", agent)?;
    requests::check_length("session", session)?;
    if message.is_some_and(|text| text.chars().count() > MAX_MESSAGE) {
        let detail = format!("`message` may have at most {MAX_MESSAGE} characters");
        return Err(ApiProblem::bad_request(detail));
    }
    // Neither the ledger nor the store has a word of the message.
    let note = proven.note_with(&api, json!({ "wrote": message.is_some() }));
    if !api.gate.take_over(agent, session, &identity.person, note).await? {
        return Err(ApiProblem::not_found("crisis not found"));
    }
    let mut number = None;
    if let Some(text) = message {
        let now = api.gate.clock().now().at;
        let turns = api.gate.crisis_turns();
        number = turns.write(agent, session, text, now);
        if number.is_none() {
            return Err(ApiProblem::conflict("too many messages; resolve the crisis first"));
        }
        turns.add(agent, session, "person", text, now);
    }
    let body = json!({ "agent": agent, "session": session, "message": number });
    Ok(axum::Json(body).into_response())
}

/// Written to the store first, then to memory: if the write fails, the crisis stays.
async fn lift(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let agent = fields.required_text("agent")?;
    let session = fields.text("session")?.unwrap_or_default();
    let reason = fields.required_text("reason")?;
    fields.finish()?;
    requests::check_length("agent", agent)?;
    requests::check_length("session", session)?;
    if reason.trim().is_empty() || reason.chars().count() > 2000 {
        return Err(ApiProblem::bad_request("`reason` must have 1 to 2000 characters"));
    }
    let known = api.gate.crises().signs(agent, session);
    let signs = known.ok_or_else(|| ApiProblem::not_found("crisis not found"))?;
    let note = proven.note_with(&api, json!({ "reason": redact_text(reason).text }));
    let (name, place) = (agent.to_owned(), session.to_owned());
    // A crisis that the store does not know yet is still being written.
    api.gate.store().lift_crisis(name, place, identity.person, note).await?;
    if let Err(crisis) = api.gate.crises().lift(agent, session, signs) {
        screen::store_crisis(&api, crisis);
        return Err(ApiProblem::conflict(
            "a new sign was detected meanwhile, so the crisis was not resolved; read it again",
        ));
    }
    api.gate.concerns().forget(agent, session);
    api.gate.crisis_turns().forget(agent, session);
    Ok(axum::Json(json!({ "agent": agent, "session": session, "lifted": true })).into_response())
}
