//! The settings by which calls run without a person, and the confirmation of wider ones.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::get;
use serde_json::{Value, json};

use super::administrator_body::administrator_texts;
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::config::UnattendedSettings;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/config", get(show).post(confirm))
}

fn document(api: &Api) -> Value {
    let in_force = UnattendedSettings::of(&api.gate.rules()).to_json();
    let in_force: Value = serde_json::from_str(&in_force).unwrap_or_default();
    let requested = api
        .gate
        .requested_settings()
        .map(|requested| json!({ "hash": requested.hash(), "changes": requested.changes }));
    json!({ "in_force": in_force, "requested": requested })
}

async fn show(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    Ok(axum::Json(document(&api)).into_response())
}

/// `POST /v1/config`: an administrator confirms the settings that wait.
async fn confirm(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let (identity, [hash]) = administrator_texts(&api, request, ["hash"]).await?;
    let note = proven.note(&api, &identity.person);
    let changes = api.gate.confirm_settings(&hash, &identity.person, note).await?;
    let changes = changes
        .ok_or_else(|| ApiProblem::conflict("no settings with this hash wait for confirmation"))?;
    let person = &identity.person;
    api.announce(format!("{person} confirmed settings: {}.", changes.join("; ")));
    Ok(axum::Json(document(&api)).into_response())
}
