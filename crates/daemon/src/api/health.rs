//! Liveness and readiness.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use countersign_store::Store as _;
use serde_json::json;

use super::{Api, ApiProblem, ApiResult};

/// `GET /health`: the daemon runs. The number of pending requests, but nothing about them.
pub async fn seed(State(api): State<Api>) -> Response {
    let pending = api.gate.open_requests();
    let body = json!({ "status": "ok", "service": "countersign", "pending": pending });
    axum::Json(body).into_response()
}

/// `GET /ready`: whether anything can be approved. The store can write, and there is a person to
/// answer.
pub async fn ready(State(api): State<Api>) -> ApiResult {
    let unready = |detail: &str| {
        ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "unready", "Not ready", detail)
            .with_outcome("unavailable")
    };
    if !api.gate.store().is_healthy().await {
        return Err(unready("nothing can be approved: the store cannot write"));
    }
    if api.directory.person_count() == 0 {
        return Err(unready("nothing can be approved: there is no person who could answer"));
    }
    Ok(axum::Json(json!({ "ready": true })).into_response())
}
