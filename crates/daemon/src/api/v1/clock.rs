//! `POST /v1/ledger/clock`: a person rebases a clock that was ahead for a while.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use countersign_redact::redact_text;
use countersign_types::time::Timestamp;
use serde_json::json;

use super::administrator_body::administrator_texts;
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof};
use crate::auth::recovery;
use crate::gate::RebaseError;

/// Sets the time of the ledger back to the system clock. The person states the time, so that a
/// clock that is wrong now is not taken for the right one.
pub async fn rebase(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let (identity, [reason, time]) = administrator_texts(&api, request, ["reason", "time"]).await?;
    if reason.trim().is_empty() || reason.chars().count() > 2000 {
        return Err(ApiProblem::bad_request("`reason` must have 1 to 2000 characters"));
    }
    let time = Timestamp::parse(&time)
        .ok_or_else(|| ApiProblem::bad_request("`time` must be like 2026-11-14T23:59:59Z"))?;
    let facts = json!({ "by": identity.person, "reason": redact_text(&reason).text });
    let note = proven.note_with(&api, facts);
    let to = api.gate.rebase_clock(time, &identity.person, note).await.map_err(problem)?;
    recovery::remove_all(&api.recovery);
    api.announce(format!(
        "{} rebased the clock to {to}. Pending requests, grants, permits and logins have ended.",
        identity.person
    ));
    Ok(axum::Json(json!({ "time": to })).into_response())
}

fn problem(error: RebaseError) -> ApiProblem {
    let detail = error.to_string();
    match error {
        RebaseError::NotBehind | RebaseError::OtherTime(_) => {
            ApiProblem::new(StatusCode::CONFLICT, "clock", "Clock not rebased", &detail)
        }
        RebaseError::Halted(_) => {
            ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "unready", "Not ready", &detail)
        }
        RebaseError::Store(error) => error.into(),
    }
}
