//! The mode in force, and the confirmation of a weaker one.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::get;
use serde_json::{Value, json};

use super::administrator_body::administrator_texts;
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::config::{mode_from_name, mode_name};

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/mode", get(show).post(confirm))
}

fn document(api: &Api) -> Value {
    json!({
        "mode": mode_name(api.gate.rules().mode),
        "requested": api.gate.requested_mode().map(mode_name),
    })
}

async fn show(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    Ok(axum::Json(document(&api)).into_response())
}

/// `POST /v1/mode`: an administrator confirms the weaker mode that the configuration asks for.
async fn confirm(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let (identity, [mode]) = administrator_texts(&api, request, ["mode"]).await?;
    let mode = mode_from_name(&mode)
        .ok_or_else(|| ApiProblem::bad_request("`mode` must be observe, crisis_only or enforce"))?;
    let note = proven.note(&api, &identity.person);
    let before = api.gate.confirm_mode(mode, &identity.person, note).await?;
    let before = before.ok_or_else(|| {
        ApiProblem::conflict(
            "the configuration does not ask for this mode; edit `mode` in countersign.toml and \
             reload it first",
        )
    })?;
    api.announce(format!(
        "{} changed the mode from {} to {}.",
        identity.person,
        mode_name(before),
        mode_name(mode)
    ));
    Ok(axum::Json(document(&api)).into_response())
}
