//! The ledger: entries, signed checkpoints, proofs.

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_redact::redact_text;
use countersign_store::{ProofPath, Store as _, StoreError};
use serde::Deserialize;
use serde_json::json;

use super::administrator_body::administrator_texts;
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};

/// Entries in one response: default and maximum.
const DEFAULT_LIMIT: u32 = 100;
const MAX_ITEMS: u32 = 1000;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/ledger/entries", get(entries))
        .route("/v1/ledger/checkpoint", get(checkpoint))
        .route("/v1/ledger/inclusion", get(inclusion))
        .route("/v1/ledger/consistency", get(consistency))
        .route("/v1/ledger/key", get(key))
        .route("/v1/ledger/rows", get(rows))
        .route("/v1/ledger/acknowledge", post(acknowledge))
        .route("/v1/ledger/clock", post(super::clock::rebase))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntriesQuery {
    from: Option<u64>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InclusionQuery {
    index: u64,
    size: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConsistencyQuery {
    old: u64,
    new: u64,
}

type QueryResult<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

fn query<T>(asked: QueryResult<T>) -> Result<T, ApiProblem> {
    asked.map(|Query(asked)| asked).map_err(|error| ApiProblem::bad_request(error.body_text()))
}

/// Entries as canonical bytes, exactly as they were hashed.
async fn entries(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: QueryResult<EntriesQuery>,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let query_values = query(asked)?;
    let limit = query_values.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_ITEMS).contains(&limit) {
        return Err(ApiProblem::bad_request(format!("`limit` must be 1 to {MAX_ITEMS}")));
    }
    let slice = api.gate.store().entries(query_values.from.unwrap_or(0), limit).await?;
    let head = api.gate.store().tree_head().await?;
    let entries: Vec<_> = slice.entries.iter().map(|e| String::from_utf8_lossy(e)).collect();
    let from = slice.from;
    let body =
        format!("{{\"from\":{from},\"entries\":[{}],\"size\":{}}}", entries.join(","), head.size);
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

async fn checkpoint(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let note = api.gate.store().checkpoint().await?;
    let note = note.ok_or_else(|| ApiProblem::not_found("there is no signed checkpoint yet"))?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], note).into_response())
}

fn proof(found: ProofPath) -> Result<Vec<String>, ApiProblem> {
    let proof =
        found.ok_or_else(|| ApiProblem::not_found("the ledger has no such entry or size"))?;
    Ok(proof.iter().map(ToString::to_string).collect())
}

async fn inclusion(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: QueryResult<InclusionQuery>,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let InclusionQuery { index, size } = query(asked)?;
    let proof = proof(api.gate.store().inclusion_proof(index, size).await?)?;
    let slice = api.gate.store().entries(index, 1).await?;
    let leaf = slice.leaves.first().map(ToString::to_string);
    let body = json!({ "index": index, "size": size, "leaf": leaf, "proof": proof });
    Ok(axum::Json(body).into_response())
}

async fn consistency(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: QueryResult<ConsistencyQuery>,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let ConsistencyQuery { old, new } = query(asked)?;
    let proof = proof(api.gate.store().consistency_proof(old, new).await?)?;
    Ok(axum::Json(json!({ "old": old, "new": new, "proof": proof })).into_response())
}

async fn key(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let vkey = api.keys.vkey().map_err(|error| ApiProblem::bad_request(error.to_string()))?;
    let jwk: serde_json::Value = serde_json::from_str(&api.keys.jwk()).unwrap_or_default();
    Ok(axum::Json(json!({ "vkey": vkey, "jwk": jwk })).into_response())
}

/// `POST /v1/ledger/acknowledge`: an administrator accepts a store that was rolled back, replaced
/// or not signed.
async fn acknowledge(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let (identity, [reason]) = administrator_texts(&api, request, ["reason"]).await?;
    if reason.trim().is_empty() || reason.chars().count() > 2000 {
        return Err(ApiProblem::bad_request("`reason` must have 1 to 2000 characters"));
    }
    let facts = json!({ "by": identity.person, "reason": redact_text(&reason).text });
    let note = proven.note_with(&api, facts);
    let (fault, entry) =
        api.gate.acknowledge(&identity.person, note).await.map_err(|error| match error {
            StoreError::NotFound(_) => {
                ApiProblem::not_found("the store has no fault, so there is nothing to acknowledge")
            }
            error => error.into(),
        })?;
    api.fleet.apply(&entry);
    api.announce(format!(
        "{} acknowledged the store, and calls can be approved again. The fault was: {fault}.",
        identity.person
    ));
    Ok(axum::Json(json!({ "acknowledged": fault.to_string() })).into_response())
}

/// `GET /v1/ledger/rows`: requests, grants, people, agents and their credentials compared with the
/// entries about them.
async fn rows(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let found = api.gate.store().compare_rows().await?;
    let listed = found.listed.iter().map(|one| {
        json!({
            "request": one.request, "credential": one.credential, "row": one.row,
            "ledger": one.ledger,
        })
    });
    let body = json!({
        "requests": found.requests, "differences": found.differences,
        "listed": listed.collect::<Vec<_>>(),
    });
    Ok(axum::Json(body).into_response())
}

#[cfg(test)]
mod tests;
