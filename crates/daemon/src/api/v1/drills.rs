//! Drills: one now, because an administrator wants to see what it is like.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::post;
use serde_json::json;

use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, who};
use crate::drills::{self, NotNow};

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/drills", post(make))
}

/// Which of the waiting calls it is, is not told.
async fn make(State(api): State<Api>, request: Request) -> Answered {
    who::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    Fields::of(&fields::parse(&bytes)?)?.finish()?;
    match drills::order(&api.gate).await {
        Ok(_) => Ok((StatusCode::CREATED, axum::Json(json!({ "made": true }))).into_response()),
        Err(NotNow::Rejection(held)) => Err(held.into()),
        Err(why) => Err(Problem::conflict(format!("No drill now: {why}."))),
    }
}
