//! GET /v1/requests/{id}/grants: the grants that can be given for a request, each with what it
//! would have covered before.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::get;
use countersign_store::{Store as _, StoredRequest};
use countersign_types::id::Id;
use countersign_workflow::grant::ShapeError;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::gate::{ShapeProposal, shape_for};

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/requests/{id}/grants", get(list))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapesQuery {
    pattern: Option<String>,
}

async fn list(
    State(api): State<Api>,
    Path(text): Path<String>,
    headers: HeaderMap,
    asked: Result<Query<ShapesQuery>, QueryRejection>,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let Query(asked) = asked.map_err(|error| ApiProblem::bad_request(error.body_text()))?;
    let stored = stored_request(&api, &text).await?;
    let proposals = match asked.pattern {
        None => api.gate.shape_proposals(&stored).await?,
        Some(pattern) => {
            let shape = shape_for(&stored, &pattern).map_err(ApiProblem::conflict)?;
            let history = api.gate.shape_history(&shape).await?;
            vec![ShapeProposal { shape, history }]
        }
    };
    let why = proposals.is_empty().then(|| ShapeError::NotPlain.message());
    let list: Vec<Value> = proposals.iter().map(proposal).collect();
    let document = json!({
        "request": stored.request.id,
        "agent": stored.request.requester.name(),
        "shapes": list,
        "why_none": why,
    });
    Ok(axum::Json(document).into_response())
}

/// A request by its id.
pub(super) async fn stored_request(api: &Api, id: &str) -> Result<StoredRequest, ApiProblem> {
    let not_found = || ApiProblem::not_found("request not found");
    let id = Id::parse(id).ok_or_else(not_found)?;
    api.gate.store().request(id).await?.ok_or_else(not_found)
}

/// A proposal, with what it would also have allowed.
pub(super) fn proposal(one: &ShapeProposal) -> Value {
    let ShapeProposal { shape, history } = one;
    let examples = history.examples.iter().map(|example| {
        json!({
            "request": example.request,
            "command": example.command,
            "denied": example.denied,
            "at": example.at,
        })
    });
    json!({
        "patterns": shape.commands,
        "words": shape.words(),
        "tool": shape.tool,
        "repository": shape.repository,
        "tier": shape.profile.tier,
        "also_allows": {
            "approved": history.approved,
            "denied": history.denied,
            "examples": examples.collect::<Vec<_>>(),
        },
    })
}
