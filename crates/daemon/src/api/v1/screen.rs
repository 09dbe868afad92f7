//! POST /v1/screen: signs of a person in crisis in a text, the verdict of the guard model, and what
//! to do with the text. The card that answers signs never waits for anything.

mod begin_crisis;
mod confirm;
mod guard_check;
mod inbound;
mod outbound;
mod screened_text;
mod store_crisis;
mod takeover;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_guard::GuardRole;
use serde::Deserialize;
use serde_json::json;

use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};

use screened_text::ScreenedText;

pub use store_crisis::store_crisis;

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/screen", post(screen)).route("/v1/takeover", get(taken_over))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionQuery {
    session: Option<String>,
}

type SessionResult = Result<Query<SessionQuery>, axum::extract::rejection::QueryRejection>;

/// `GET /v1/takeover`: whether a person has taken over a conversation of this agent, what they
/// wrote to the user, and what to tell the user if no person answers.
async fn taken_over(State(api): State<Api>, asked: SessionResult, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let asked = asked.map_err(|error| ApiProblem::bad_request(error.body_text()))?;
    let session = asked.0.session.unwrap_or_default();
    let takeover = takeover::document(&api.gate, &caller.agent, &session);
    let in_crisis = api.gate.crises().holds(&caller.agent, Some(&session));
    let context = if in_crisis { "crisis" } else { "none" };
    let notice = api.gate.unanswered_notice(&caller.agent, &session);
    let body = json!({ "context": context, "takeover": takeover, "notice": notice });
    Ok(axum::Json(body).into_response())
}

/// The text is neither stored nor logged, unless a person is asked about it.
async fn screen(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let screened = ScreenedText::read(&Fields::new(&value)?)?;
    let answer = match screened.role {
        GuardRole::User => inbound::screen(&api, &caller, &screened).await?,
        GuardRole::Agent => outbound::screen(&api, &caller, &screened).await?,
    };
    Ok(axum::Json(answer).into_response())
}
