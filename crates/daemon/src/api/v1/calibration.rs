//! GET /v1/calibration: answered calls by score, to try out thresholds.

use std::collections::HashSet;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::get;
use countersign_store::{Store as _, StoreError, StoredRequest};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Timestamp};
use serde_json::json;

use crate::api::{Api, ApiResult, authenticate};
use crate::calibration::{ScoreBucket, ThresholdSetting, buckets};
use crate::recent::{Recent, recent};

/// How far back, in milliseconds, and how many requests at most.
const SPAN: i64 = 90 * 86_400_000;
const MAX_ITEMS: usize = 10_000;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/calibration", get(calibration))
}

async fn calibration(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let CalibrationData { since, buckets, partial, regretted } = calibration_data(&api).await?;
    let now = ThresholdSetting::of(&api.gate.rules().assessment);
    let body = json!({
        "since": since, "partial": partial, "buckets": buckets, "regretted": regretted,
        "now": {
            "low_confidence": f64::from(now.low_confidence) / 100.0, "medium": now.medium,
        },
    });
    Ok(axum::Json(body).into_response())
}

/// Answered calls in buckets.
pub struct CalibrationData {
    /// Since when.
    pub since: Timestamp,
    /// Calls with the same score.
    pub buckets: Vec<ScoreBucket>,
    /// Whether there were more requests than were read.
    pub partial: bool,
    /// How many calls people regretted afterwards; they count as denied.
    pub regretted: u64,
}

/// The answered calls of the last 90 days.
pub async fn calibration_data(api: &Api) -> Result<CalibrationData, StoreError> {
    let since = Timestamp(api.gate.clock().now().at.0.saturating_sub(SPAN));
    let Recent { requests, partial, .. } = recent(api.gate.store(), since, MAX_ITEMS).await?;
    let regretted = api.gate.store().regretted().await?;
    let regretted: HashSet<Id> = regretted.iter().map(|call| call.request).collect();
    let is_regretted = |stored: &&StoredRequest| regretted.contains(&stored.request.id);
    let counted = requests.iter().filter(is_regretted).count() as u64;
    let buckets = buckets(&requests, &regretted);
    Ok(CalibrationData { since, buckets, partial, regretted: counted })
}
