//! POST /v1/assess: the assessment of a call, without submitting it.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_risk::call_digest::digest;
use countersign_risk::route::Route;
use countersign_risk::word_pair::word_pair;
use serde_json::Value;

use super::requests;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/assess", post(assess))
}

async fn assess(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let mut call = requests::read_call(&fields, &value)?;
    let observed = requests::observed_projects(&fields)?;
    fields.finish()?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let raw = fields.raw_call(text);
    let projects = api.gate.find_projects(&caller, &call.context, observed).await;
    let (assessment, decided_route) = api.gate.assess_in(&mut call, &caller, &projects);
    let digest = digest(&call, raw.as_bytes());
    let (route, crisis) = match decided_route {
        Route::Pass { .. } => ("pass", false),
        Route::Ask { crisis } => ("ask", crisis),
        Route::Refuse => ("refuse", false),
    };
    let mut record = serde_json::to_value(&assessment)
        .map_err(|_| ApiProblem::from(crate::gate::Rejection::Unwritable))?;
    if let Some(members) = record.as_object_mut() {
        members.insert("digest".to_owned(), Value::String(digest.canonical.to_string()));
        members.insert("raw_digest".to_owned(), Value::String(digest.raw.to_string()));
        members.insert("both_bind".to_owned(), Value::Bool(digest.both_bind));
        members
            .insert("phrase".to_owned(), Value::String(word_pair(&digest.canonical).to_string()));
        members.insert("route".to_owned(), Value::String(route.to_owned()));
        members.insert("crisis".to_owned(), Value::Bool(crisis));
    }
    Ok(axum::Json(record).into_response())
}
