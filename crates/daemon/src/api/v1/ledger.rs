//! The ledger: entries, signed heads, proofs.

use axum::Router;

use crate::api::Api;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
}
