//! Reviews of calls that ran first: people see what changed, and keep it or have it rolled back.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_snapshot::encode_path;
use countersign_store::{Store as _, StoreError, StoredReview};
use countersign_types::time::{Clock as _, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use super::requests::id;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate, step_up};
use crate::gate::{RollBackError, change_view};

/// How long ended reviews are listed: a week.
const LISTED_MS: i64 = 7 * 86_400_000;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/reviews", get(list))
        .route("/v1/reviews/{id}", get(show))
        .route("/v1/reviews/{id}/decision", post(decide))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReviewsQuery {
    #[serde(default)]
    all: bool,
}

async fn list(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: Result<Query<ReviewsQuery>, QueryRejection>,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let Query(ReviewsQuery { all }) =
        asked.map_err(|error| ApiProblem::bad_request(error.body_text()))?;
    let since = Timestamp(api.gate.clock().now().at.0.saturating_sub(LISTED_MS));
    let reviews = api.gate.store().reviews(all.then_some(since)).await?;
    let list: Vec<Value> = reviews.iter().map(document).collect();
    Ok(axum::Json(json!({ "reviews": list })).into_response())
}

async fn show(State(api): State<Api>, Path(text): Path<String>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let review = api.gate.review(id(&text)?).await?;
    let mut shown = document(&review);
    let (changes, conflicts, problem) = match change_view(&api.gate, &review).await {
        Ok(view) => {
            let conflicts: Vec<String> = view.conflicts.iter().map(|p| encode_path(p)).collect();
            (json!(view.changes), conflicts, None)
        }
        Err(error) => (json!([]), Vec::new(), Some(error.to_string())),
    };
    if let Some(members) = shown.as_object_mut() {
        members.insert("changes".to_owned(), changes);
        members.insert("conflicts".to_owned(), json!(conflicts));
        members.insert("problem".to_owned(), json!(problem));
    }
    Ok(axum::Json(shown).into_response())
}

async fn decide(State(api): State<Api>, Path(text): Path<String>, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let choice = fields.required_text("choice")?;
    let force = fields.boolean("force")?.unwrap_or(false);
    fields.finish()?;
    let id = id(&text)?;
    let mut note = api.gate.note_by(&identity.person);
    if force {
        // It replaces what was changed after the call.
        note = step_up::prove(&api, &identity, &parts, &bytes).await?.note(&api, &identity.person);
    }
    let review = match choice {
        "keep" => api.gate.keep_review(id, &identity.person).await.map_err(refused)?,
        "roll_back" => match api.gate.roll_back(id, &identity.person, force, note).await {
            Ok(review) => review,
            Err(RollBackError::Store(error)) => return Err(refused(error)),
            Err(failed) => return Err(ApiProblem::conflict(failed.to_string())),
        },
        _ => return Err(ApiProblem::bad_request("`choice` must be keep or roll_back")),
    };
    Ok(axum::Json(document(&review)).into_response())
}

/// A review that has ended stays as it is.
fn refused(error: StoreError) -> ApiProblem {
    match error {
        StoreError::Invalid(why) => ApiProblem::conflict(why),
        error => error.into(),
    }
}

/// A review without the content of files.
fn document(review: &StoredReview) -> Value {
    json!({
        "id": review.request,
        "state": review.state,
        "agent": review.agent,
        "session": review.session,
        "tool": review.tool,
        "brief": review.brief,
        "snapshot": review.snapshot,
        "files": review.files,
        "bytes": review.bytes,
        "opened": review.opened,
        "until": review.until,
        "ended": review.ended,
        "person": review.person,
        "result_recorded": review.after.is_some(),
        "note": review.note,
    })
}
