//! GET /metrics: counters for Prometheus.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use countersign_risk::verdict::Mode;
use countersign_store::{Backend, Store as _};

use crate::api::{Api, ApiResult, authenticate};
use crate::freeze::FreezeStage;
use crate::metrics::Gauges;

/// Announcements are counted up to this number.
const MAX_OUTBOX: u32 = 1000;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/metrics", get(metrics))
}

/// Metrics contain names of agents and how much is asked, so they need a credential.
async fn metrics(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let store = api.gate.store();
    let Backend::Sqlite(sqlite) = store;
    let gauges = Gauges {
        open: api.gate.open_requests(),
        waiting: sqlite.waiting(),
        outbox: store.outbox(0, MAX_OUTBOX).await.map_or(0, |outbox| outbox.len()),
        healthy: store.is_healthy().await,
        behind: api.gate.clock().behind(),
        halted: api.gate.integrity().fault().is_some(),
        freeze: match api.gate.freeze_state().stage() {
            None => 0,
            Some(FreezeStage::GrantsSuspended) => 1,
            Some(FreezeStage::Frozen) => 2,
        },
        enforcing: api.gate.rules().mode == Mode::Enforce,
        entries: store.tree_head().await.map_or(0, |head| head.size),
        gates: api.proofs.counts(),
    };
    let text = api.gate.metrics().text(gauges);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
