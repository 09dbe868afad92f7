//! Policy rules through the API: a person proposes them, and people decide about them as about any
//! CRITICAL call.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::post;

use super::administrator_body::administrator_texts;
use super::requests;
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof};

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/policy/rules", post(propose))
}

/// An administrator proposes rules. They are in force when people have approved them.
async fn propose(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let (identity, [text]) = administrator_texts(&api, request, ["rules"]).await?;
    let note = proven.note(&api, &identity.person);
    let proposed = api.gate.propose_policy(&text, &identity.person, note).await?;
    let stored = proposed.map_err(ApiProblem::bad_request)?;
    let document = requests::for_people(&api, &stored).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(document)).into_response())
}
