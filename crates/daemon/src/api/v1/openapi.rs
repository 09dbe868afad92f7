//! The `OpenAPI` document, as served and as kept.

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::api::Api;

/// Both doors in one document; a test holds it against the routers.
pub const DOCUMENT: &str = include_str!("../../../openapi.json");

/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new().route("/openapi.json", get(document))
}

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new().route("/openapi.json", get(document))
}

async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}
