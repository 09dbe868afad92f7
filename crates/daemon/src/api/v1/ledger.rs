//! The ledger: entries, signed heads, proofs.

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use countersign_store::{MerkleProof, Store as _};
use serde::Deserialize;
use serde_json::json;

use crate::api::{Answered, Api, Problem, who};

/// Entries in one answer, unless more are asked for.
const USUAL: u32 = 100;
const MOST: u32 = 1000;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/ledger/entries", get(entries))
        .route("/v1/ledger/checkpoint", get(checkpoint))
        .route("/v1/ledger/inclusion", get(inclusion))
        .route("/v1/ledger/consistency", get(consistency))
        .route("/v1/ledger/key", get(key))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    from: Option<u64>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Leaf {
    index: u64,
    size: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sizes {
    old: u64,
    new: u64,
}

type Asked<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

fn query<T>(asked: Asked<T>) -> Result<T, Problem> {
    asked.map(|Query(asked)| asked).map_err(|error| Problem::bad(error.body_text()))
}

/// Entries in their canonical bytes, as they were hashed: whoever verifies needs no others.
async fn entries(State(api): State<Api>, headers: HeaderMap, asked: Asked<Place>) -> Answered {
    who::person(&api, &headers)?;
    let place = query(asked)?;
    let limit = place.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(Problem::bad(format!("`limit` must be 1 to {MOST}")));
    }
    let slice = api.gate.store().entries(place.from.unwrap_or(0), limit).await?;
    let head = api.gate.store().tree_head().await?;
    let entries: Vec<_> = slice.entries.iter().map(|e| String::from_utf8_lossy(e)).collect();
    let from = slice.from;
    let body =
        format!("{{\"from\":{from},\"entries\":[{}],\"size\":{}}}", entries.join(","), head.size);
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

async fn checkpoint(State(api): State<Api>, headers: HeaderMap) -> Answered {
    who::person(&api, &headers)?;
    let note = api.gate.store().checkpoint().await?;
    let note = note.ok_or_else(|| Problem::not_found("no head of the ledger is signed yet"))?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], note).into_response())
}

fn proof(found: MerkleProof) -> Result<Vec<String>, Problem> {
    let proof = found.ok_or_else(|| Problem::not_found("the ledger has no such place"))?;
    Ok(proof.iter().map(ToString::to_string).collect())
}

async fn inclusion(State(api): State<Api>, headers: HeaderMap, asked: Asked<Leaf>) -> Answered {
    who::person(&api, &headers)?;
    let Leaf { index, size } = query(asked)?;
    let proof = proof(api.gate.store().inclusion_proof(index, size).await?)?;
    let slice = api.gate.store().entries(index, 1).await?;
    let leaf = slice.leaves.first().map(ToString::to_string);
    let body = json!({ "index": index, "size": size, "leaf": leaf, "proof": proof });
    Ok(axum::Json(body).into_response())
}

async fn consistency(State(api): State<Api>, headers: HeaderMap, asked: Asked<Sizes>) -> Answered {
    who::person(&api, &headers)?;
    let Sizes { old, new } = query(asked)?;
    let proof = proof(api.gate.store().consistency_proof(old, new).await?)?;
    Ok(axum::Json(json!({ "old": old, "new": new, "proof": proof })).into_response())
}

async fn key(State(api): State<Api>, headers: HeaderMap) -> Answered {
    who::person(&api, &headers)?;
    let vkey = api.keys.vkey().map_err(|error| Problem::bad(error.to_string()))?;
    let jwk: serde_json::Value = serde_json::from_str(&api.keys.jwk()).unwrap_or_default();
    Ok(axum::Json(json!({ "vkey": vkey, "jwk": jwk })).into_response())
}

#[cfg(test)]
mod tests;
