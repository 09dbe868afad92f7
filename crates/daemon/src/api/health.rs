//! Liveness and readiness.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use countersign_store::Store as _;
use countersign_types::time::Clock as _;
use serde_json::json;

use super::{Api, ApiProblem, ApiResult};
use crate::config::mode_name;

/// `GET /health`: the daemon runs. The number of pending requests, but nothing about them.
pub async fn seed(State(api): State<Api>) -> Response {
    let pending = api.gate.open_requests();
    let body = json!({ "status": "ok", "service": "countersign", "pending": pending });
    axum::Json(body).into_response()
}

/// `GET /ready`: whether anything can be approved. The store is the one that was signed last and
/// can write, the clock is right, and there is a person to answer.
pub async fn ready(State(api): State<Api>) -> ApiResult {
    let unready = |detail: &str| {
        ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "unready", "Not ready", detail)
            .with_outcome("unavailable")
    };
    if let Some(fault) = api.gate.integrity().fault() {
        return Err(unready(&fault.advice()));
    }
    if !api.gate.clock().now().reliable {
        return Err(unready(
            "nothing can be approved: the system clock is behind the newest ledger entry. If the \
             system clock is right now: countersign ledger rebase-clock",
        ));
    }
    if !api.gate.store().is_healthy().await {
        return Err(unready("nothing can be approved: the store cannot write"));
    }
    if api.directory.person_count() == 0 {
        return Err(unready("nothing can be approved: there is no person who could answer"));
    }
    let requested = api.gate.requested_mode().map(mode_name);
    let mode = mode_name(api.gate.rules().mode);
    let freeze = api.gate.freeze_state().current();
    let waiting = api.gate.requested_settings();
    let body = json!({
        "ready": true, "mode": mode, "requested_mode": requested,
        "freeze": freeze.as_ref().map(|freeze| freeze.stage.label()),
        "frozen_by": freeze.as_ref().map(|freeze| &freeze.by),
        // Agents may read this: it names no setting and no folder.
        "waiting_settings": waiting.map_or(0, |waiting| waiting.changes.len()),
        "lost_adoptions": api.gate.lost_projects().len(),
        "fleet_fault": api.fleet.fault().map(|fault| fault.to_string()),
    });
    Ok(axum::Json(body).into_response())
}
