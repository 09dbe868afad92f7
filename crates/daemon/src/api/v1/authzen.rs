//! OpenID AuthZEN 1.0 and its Access Request and Approval Profile.

use axum::Router;

use crate::api::Api;

/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new()
}
