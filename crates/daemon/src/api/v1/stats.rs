//! Counts for people.

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

use crate::api::{Answered, Api, who};
use crate::metrics::Hour;
use crate::recent::{Recent, recent};

const DAY: i64 = 86_400_000;
/// Requests that are read for the last day; beyond them the answer says `partial`.
const MOST: usize = 10_000;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/stats", get(stats))
}

async fn stats(State(api): State<Api>, headers: HeaderMap) -> Answered {
    who::person(&api, &headers)?;
    let now = api.gate.clock().now().at;
    let since = Timestamp(now.0.saturating_sub(DAY));
    let Recent { requests, partial, .. } = recent(api.gate.store(), since, MOST).await?;
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

/// Questions of each hundred calls: the price that people pay.
fn calls(hours: Hour) -> Value {
    let all = hours.passes + hours.asks + hours.refusals;
    let tenths = (hours.asks * 1000).checked_div(all).unwrap_or(0);
    json!({
        "passes": hours.passes, "asks": hours.asks, "refusals": hours.refusals,
        "questions_per_100": format!("{}.{}", tenths / 10, tenths % 10),
    })
}

fn day(requests: &[StoredRequest], hours: Hour, partial: bool) -> Value {
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
            times.push(request.plan.created.until(decision.at).0);
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
