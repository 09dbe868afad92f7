//! People: added, listed, revoked.

use axum::Router;

use crate::api::Api;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
}
