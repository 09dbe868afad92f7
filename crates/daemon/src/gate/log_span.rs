//! Log lines about a request carry its id.

use countersign_types::id::Id;

/// The log span of a request.
pub fn request_span(id: Id) -> tracing::Span {
    tracing::info_span!("request", %id)
}
