//! Permits: verified and used once; the public key.

use axum::Router;

use crate::api::Api;

/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new()
}
