//! The model judge, for people: its state, its agreement with them, and one exchange in full.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::get;
use countersign_judge::Proportion;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::Store as _;
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use serde_json::{Value, json};

use crate::api::{Api, ApiProblem, ApiResult, authenticate};

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/judge", get(status)).route("/v1/requests/{id}/judge", get(exchange))
}

async fn status(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let Some(judge) = api.gate.judge().current() else {
        return Ok(axum::Json(json!({ "mode": "off" })).into_response());
    };
    let status = judge.status(api.gate.clock().now().at);
    let (config, compared) = (judge.config(), status.comparison);
    let metrics = api.gate.metrics();
    let body = json!({
        "mode": config.mode.label(),
        "api": config.settings.api.label(),
        "model": judge.model(),
        "releases": status.held_back.is_none(),
        "held_back": status.held_back,
        "breaker": status.breaker.label(),
        "tokens_today": status.tokens_today,
        "canaries": { "passed": status.canaries_passed, "missed": status.missed_canaries },
        "needed": {
            "decisions": config.bar.decisions,
            "max_denied": f64::from(config.bar.max_denied) / 1000.0,
        },
        "compared": compared.total(),
        "missed": rate(compared.missed()),
        "over_asked": rate(compared.over_asked()),
        "wrongly_allowed": rate(compared.wrongly_allowed()),
        "questions": metrics.totals("countersign_judge_questions_total"),
        "actions": metrics.totals("countersign_judge_actions_total"),
    });
    Ok(axum::Json(body).into_response())
}

/// A rate with its interval of 95 %.
fn rate(found: Proportion) -> Value {
    let (low, high) = found.interval();
    json!({ "hits": found.hits, "of": found.of, "rate": found.rate(), "low": low, "high": high })
}

/// The exact prompt and reply of a request, and whether they are the recorded ones.
async fn exchange(
    State(api): State<Api>,
    headers: HeaderMap,
    Path(text): Path<String>,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let none = || ApiProblem::not_found("The model judge was not asked about this request.");
    let id = Id::parse(&text).ok_or_else(none)?;
    let recorded = recorded_opinion(&api, id).await?.ok_or_else(none)?;
    let stored = api.gate.store().request(id).await?;
    let pending = stored.is_some_and(|stored| !stored.request.state.has_ended());
    if pending && recorded.get("compared") == Some(&Value::Bool(true)) {
        let detail = "This opinion is compared with your decision; you can read it afterwards.";
        return Err(ApiProblem::new(
            StatusCode::CONFLICT,
            "opinion-compared",
            "Not shown before the decision",
            detail,
        ));
    }
    // The exchange of a cached verdict is the one of the request that the model was asked about.
    let from = recorded.get("cached_from").and_then(Value::as_str).and_then(Id::parse);
    let asked = match from {
        Some(from) => recorded_opinion(&api, from).await?,
        None => Some(recorded.clone()),
    };
    let kept = api.gate.judge().exchanges().and_then(|log| log.read(from.unwrap_or(id)));
    let digest = asked.as_ref().and_then(|asked| asked.get("prompt")?.as_str());
    let is_recorded = kept.as_ref().map(|kept| Some(&*kept.prompt_digest()) == digest);
    let body = json!({
        "request": id, "recorded": recorded, "exchange": kept, "matches_ledger": is_recorded,
    });
    Ok(axum::Json(body).into_response())
}

/// What the ledger has about the judge's opinion on a request.
async fn recorded_opinion(api: &Api, id: Id) -> Result<Option<Value>, ApiProblem> {
    let history = api.gate.store().request_history(id).await?;
    Ok(history.iter().find_map(|told| judge_facts(&told.entry)))
}

/// The facts of the judge in an entry.
fn judge_facts(bytes: &[u8]) -> Option<Value> {
    let entry = Entry::decode(bytes).ok()?;
    let kinds = [EntryKind::JudgeOpinion, EntryKind::JudgeRelease, EntryKind::Deny];
    let (_, facts) = entry.facts.iter().find(|(name, _)| name == "judge")?;
    kinds.contains(&entry.kind).then(|| serde_json::from_str(&facts.to_json()).ok()).flatten()
}
