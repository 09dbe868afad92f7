//! The policy rules in force, and the confirmation of rules that let more calls pass.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::get;
use countersign_types::time::Timestamp;
use serde_json::{Value, json};

use super::administrator_body::administrator_texts;
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/policy", get(show).post(confirm))
}

fn document(api: &Api) -> Value {
    let rules = api.gate.rules();
    let listed: Vec<Value> = rules
        .policy
        .rules()
        .iter()
        .map(|rule| json!({ "name": rule.name(), "decision": rule.word(), "file": rule.file }))
        .collect();
    let requested = api.gate.requested_policy().map(|requested| {
        json!({ "hash": requested.policy.hash().to_string(), "changes": requested.changes })
    });
    let adopted = api.gate.adopted_projects();
    let projects: Vec<Value> = adopted
        .iter()
        .map(|(folder, one)| {
            json!({
                "folder": folder, "digest": one.digest().to_string(), "by": one.person,
                "at": Timestamp(one.at), "allows": one.allows,
            })
        })
        .collect();
    json!({
        "hash": rules.policy.hash().to_string(),
        "rules": listed,
        "requested": requested,
        "projects": projects,
        "lost_projects": api.gate.lost_projects(),
    })
}

async fn show(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    Ok(axum::Json(document(&api)).into_response())
}

/// `POST /v1/policy`: an administrator confirms the rules that wait.
async fn confirm(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let (identity, [hash]) = administrator_texts(&api, request, ["hash"]).await?;
    let note = proven.note(&api, &identity.person);
    let changes = api.gate.confirm_policy(&hash, &identity.person, note).await?;
    let changes = changes.ok_or_else(|| {
        ApiProblem::conflict("no policy rules with this hash wait for confirmation")
    })?;
    let person = &identity.person;
    api.announce(format!("{person} confirmed policy rules: {}.", changes.join("; ")));
    Ok(axum::Json(document(&api)).into_response())
}
