//! Batches: a list of calls in, verdicts in order, one group to answer.

use axum::Router;

use crate::api::Api;

/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new()
}
