//! The OpenAPI document, as served and as kept.

use axum::Router;

use crate::api::Api;

/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new()
}

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
}
