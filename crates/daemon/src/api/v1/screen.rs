//! POST /v1/screen: a person's message, answered at once.

use axum::Router;

use crate::api::Api;

/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new()
}
