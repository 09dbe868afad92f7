//! POST /v1/screen: signs of a person in crisis in a text, the verdict of the guard model, and what
//! to do with the text. The card that answers signs never waits for anything.

mod guard_check;
mod inbound;
mod outbound;
mod screened_text;
mod store_crisis;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_guard::GuardRole;

use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiResult, authenticate};

use screened_text::ScreenedText;

pub use store_crisis::store_crisis;

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/screen", post(screen))
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
