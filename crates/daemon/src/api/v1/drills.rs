//! POST /v1/drills: sends one drill now, for an administrator.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::post;
use serde_json::json;

use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::drills::{self, DrillRefusal};

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/drills", post(make))
}

/// The response does not tell which pending request is the drill.
async fn make(State(api): State<Api>, request: Request) -> ApiResult {
    authenticate::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    Fields::new(&fields::parse(&bytes)?)?.finish()?;
    match drills::create_now(&api.gate).await {
        Ok(_) => Ok((StatusCode::CREATED, axum::Json(json!({ "made": true }))).into_response()),
        Err(DrillRefusal::Rejection(held)) => Err(held.into()),
        Err(why) => Err(ApiProblem::conflict(format!("No drill was sent: {why}."))),
    }
}
