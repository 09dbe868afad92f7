//! Agents in quarantine: people see them and can end a quarantine.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/quarantines", get(list)).route("/v1/quarantines/lift", post(lift))
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let list = api.gate.quarantines();
    let list: Vec<Value> =
        list.iter().map(|it| json!({ "agent": it.agent, "until": it.until })).collect();
    Ok(axum::Json(json!({ "quarantines": list })).into_response())
}

/// The agent may ask again; what it asks is decided as before.
async fn lift(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let agent = fields.required_text("agent")?;
    fields.finish()?;
    let note = proven.note(&api, &identity.person);
    if !api.gate.lift_quarantine(agent, &identity.person, &note).await? {
        return Err(ApiProblem::not_found("quarantine not found"));
    }
    Ok(axum::Json(json!({ "agent": agent, "lifted": true })).into_response())
}
