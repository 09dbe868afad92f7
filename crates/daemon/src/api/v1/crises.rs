//! Sessions in a crisis: listed and resolved by people, never by agents.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_redact::redact_text;
use countersign_store::{CrisisSession, Store as _};
use serde_json::{Value, json};

use super::{requests, screen};
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/crises", get(list)).route("/v1/crises/lift", post(lift))
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let list: Vec<Value> = api.gate.crises().list().iter().map(document).collect();
    Ok(axum::Json(json!({ "crises": list })).into_response())
}

fn document(crisis: &CrisisSession) -> Value {
    json!({
        "agent": crisis.agent, "session": crisis.session, "level": crisis.level,
        "imminent": crisis.imminent, "since": crisis.since,
    })
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
    Ok(axum::Json(json!({ "agent": agent, "session": session, "lifted": true })).into_response())
}
