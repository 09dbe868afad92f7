//! GET /openapi.json: the `OpenAPI` document.

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::api::Api;

/// Both APIs in one document; a test compares it with the routers.
pub const DOCUMENT: &str = include_str!("../../../openapi.json");

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/openapi.json", get(document))
}

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/openapi.json", get(document))
}

async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}
