//! GET /v1/stats: counts for people.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::get;
use countersign_store::StoredRequest;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::Decider;
use serde_json::{Value, json};

use crate::api::{Api, ApiResult, authenticate};
use crate::metrics::HourCounts;
use crate::recent::{Recent, recent};

const DAY: i64 = 86_400_000;
/// The most requests that are read for the last day; with more the response says `partial`.
const MAX_ITEMS: usize = 10_000;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/stats", get(stats))
}

async fn stats(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let now = api.gate.clock().now().at;
    let since = Timestamp(now.0.saturating_sub(DAY));
    let Recent { requests, partial, .. } = recent(api.gate.store(), since, MAX_ITEMS).await?;
    let metrics = api.gate.metrics();
    let body = json!({
        "since_start": {
            "calls": calls(metrics.last(usize::MAX, now)),
            "ended": metrics.totals("countersign_requests_ended_total"),
            "agents": metrics.agents(),
        },
        "last_24_hours": day(&requests, metrics.last(24, now), partial),
        "open": api.gate.open_requests(),
    });
    Ok(axum::Json(body).into_response())
}

/// Questions per hundred calls.
fn calls(hours: HourCounts) -> Value {
    let all = hours.passes + hours.asks + hours.refusals;
    let tenths = (hours.asks * 1000).checked_div(all).unwrap_or(0);
    json!({
        "passes": hours.passes, "asks": hours.asks, "refusals": hours.refusals,
        "questions_per_100": format!("{}.{}", tenths / 10, tenths % 10),
    })
}

fn day(requests: &[StoredRequest], hours: HourCounts, partial: bool) -> Value {
    let mut by_state = BTreeMap::<&str, u64>::new();
    let mut by_tier = BTreeMap::<&str, u64>::new();
    let mut by_agent = BTreeMap::<&str, u64>::new();
    let mut times = Vec::new();
    for stored in requests {
        let request = &stored.request;
        *by_state.entry(request.state.label()).or_default() += 1;
        *by_tier.entry(request.tier.label()).or_default() += 1;
        *by_agent.entry(request.requester.name()).or_default() += 1;
        if let Some(decision) = &request.decision
            && matches!(decision.by, Decider::People(_))
        {
            times.push(request.schedule.created.until(decision.at).0);
        }
    }
    times.sort_unstable();
    let at = |part: usize| times.get((times.len() * part / 100).min(times.len().max(1) - 1));
    json!({
        "calls": calls(hours),
        "by_state": by_state, "by_tier": by_tier, "by_agent": by_agent,
        "answers": times.len(), "answer_ms_median": at(50), "answer_ms_p90": at(90),
        "partial": partial,
    })
}
