//! Sessions in crisis: listed, and lifted by a person.

use axum::Router;

use crate::api::Api;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
}
