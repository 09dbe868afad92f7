//! The `AuthZEN` API: evaluations, and the Access Request and Approval Profile on top of the gate.
//!
//! An enforcement point asks whether a tool call may run. If a person must be asked, the denial
//! offers an access request. That is a request of the gate like any other, and its approval is used
//! up by one evaluation of exactly the same call.

mod base_url;
mod evaluate;
mod read;
mod result;
mod task;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::json;

use crate::api::Api;

use base_url::base_url;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new()
        .route("/access/v1/evaluation", post(evaluate::one))
        .route("/access/v1/evaluations", post(evaluate::many))
        .route("/access/v1/requests", post(task::create))
        .route("/access/v1/requests/{id}", get(task::read))
        .route("/access/v1/requests/{id}/cancel", post(task::cancel))
        .route("/.well-known/authzen-configuration", get(configuration))
        .route_layer(middleware::from_fn(echo))
}

/// Returns the caller's request id, also with errors.
async fn echo(request: Request, next: Next) -> Response {
    let named = request.headers().get(REQUEST_ID).filter(|name| name.len() <= 256).cloned();
    let mut response = next.run(request).await;
    if let Some(named) = named {
        response.headers_mut().insert(REQUEST_ID, named);
    }
    response
}

async fn configuration(State(api): State<Api>, headers: HeaderMap) -> Response {
    let base = base_url(&api, &headers);
    let body = json!({
        "policy_decision_point": base,
        "access_evaluation_endpoint": format!("{base}/access/v1/evaluation"),
        "access_evaluations_endpoint": format!("{base}/access/v1/evaluations"),
        "access_request_endpoint": format!("{base}/access/v1/requests"),
        "capabilities": ["urn:openid:authzen:capability:access-request"],
    });
    axum::Json(body).into_response()
}
