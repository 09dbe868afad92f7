//! GET /v1/grants/suggestions: calls that people approved many times in a row.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::get;
use countersign_store::Store as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::grant_shapes::proposal;
use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::gate::{FormSuggestion, GrantSuggestion, ShapeProposal, shape_for};

/// The most approvals in a row that can be asked for.
const MAX_APPROVALS: u32 = 1_000;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/grants/suggestions", get(list))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuggestionsQuery {
    approvals: Option<u32>,
}

async fn list(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: Result<Query<SuggestionsQuery>, QueryRejection>,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let asked = asked.map_err(|error| ApiProblem::bad_request(error.body_text()))?;
    let needed = asked.0.approvals.unwrap_or(api.gate.rules().learning.approvals);
    if !(1..=MAX_APPROVALS).contains(&needed) {
        let detail = format!("`approvals` must be 1 to {MAX_APPROVALS}");
        return Err(ApiProblem::bad_request(detail));
    }
    let found = api.gate.grant_suggestions(needed).await?;
    let list: Vec<Value> = found.iter().map(document).collect();
    let mut forms = Vec::new();
    for one in api.gate.form_suggestions(needed).await? {
        forms.extend(form(&api, &one).await?);
    }
    Ok(axum::Json(json!({ "suggestions": list, "forms": forms })).into_response())
}

/// Commands of one form, with what a grant for the form would also allow.
async fn form(api: &Api, one: &FormSuggestion) -> Result<Option<Value>, ApiProblem> {
    let stored = api.gate.store().request(one.request).await?;
    let Some(shape) = stored.and_then(|stored| shape_for(&stored, &one.pattern).ok()) else {
        return Ok(None);
    };
    let history = api.gate.shape_history(&shape).await?;
    let mut document = proposal(&ShapeProposal { shape, history });
    let evidence = json!({
        "request": one.request,
        "approvals": one.approvals,
        "agent": one.agent,
        "pattern": one.pattern,
        "commands": one.commands,
        "last": one.last,
    });
    if let (Some(members), Value::Object(evidence)) = (document.as_object_mut(), evidence) {
        members.extend(evidence);
    }
    Ok(Some(document))
}

fn document(one: &GrantSuggestion) -> Value {
    json!({
        "request": one.request,
        "approvals": one.approvals,
        "agent": one.agent,
        "tier": one.tier.label(),
        "brief": one.brief,
        "call": one.call,
        "first": one.first,
        "last": one.last,
        "digest": one.digest.canonical.to_string(),
        "raw_digest": one.digest.raw.to_string(),
        "both_bind": one.digest.both_bind,
    })
}
