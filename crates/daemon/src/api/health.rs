//! Whether the daemon lives, and whether it can do its work.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use countersign_store::Store as _;
use serde_json::json;

use super::{Answered, Api, Problem};

/// The seed's health: the daemon lives. How many wait, but not what.
pub async fn seed(State(api): State<Api>) -> Response {
    let pending = api.gate.open_requests();
    let body = json!({ "status": "ok", "service": "countersign", "pending": pending });
    axum::Json(body).into_response()
}

/// Whether anything can be approved: the store writes, and somebody can answer.
pub async fn ready(State(api): State<Api>) -> Answered {
    let unready = |detail: &str| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unready", "Nothing can be approved", detail)
            .with_outcome("unavailable")
    };
    if !api.gate.store().is_healthy().await {
        return Err(unready("the store cannot write"));
    }
    if api.book.people() == 0 {
        return Err(unready("there is nobody who could answer"));
    }
    Ok(axum::Json(json!({ "ready": true })).into_response())
}
