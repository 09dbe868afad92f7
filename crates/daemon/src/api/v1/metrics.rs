//! Counts for machines: Prometheus text.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use countersign_store::{Backend, Store as _};

use crate::api::{Answered, Api, who};
use crate::metrics::Gauges;

/// So many announcements are counted at most.
const OUTBOX: u32 = 1000;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new().route("/metrics", get(metrics))
}

/// Names of agents and the pace of a house are nobody else's business: a credential is needed.
async fn metrics(State(api): State<Api>, headers: HeaderMap) -> Answered {
    who::person(&api, &headers)?;
    let store = api.gate.store();
    let Backend::Sqlite(sqlite) = store;
    let gauges = Gauges {
        open: api.gate.open_requests(),
        waiting: sqlite.waiting(),
        outbox: store.outbox(0, OUTBOX).await.map_or(0, |outbox| outbox.len()),
        healthy: store.is_healthy().await,
        behind: api.gate.clock().behind(),
        entries: store.tree_head().await.map_or(0, |head| head.size),
        doors: api.proofs.counts(),
    };
    let text = api.gate.metrics().text(gauges);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
