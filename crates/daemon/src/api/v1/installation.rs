//! GET /v1/installation: who runs the daemon and where its files are.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::routing::get;

use crate::api::{Api, ApiResult, authenticate};

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/installation", get(installation))
}

/// For agents that the daemon knows: `countersign doctor` runs as their user.
async fn installation(State(api): State<Api>, request: Request) -> ApiResult {
    authenticate::agent(&api, &request)?;
    Ok(axum::Json(&api.identity).into_response())
}
