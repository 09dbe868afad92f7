//! A person's own sessions: where they are signed in, and how to end a session.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::{delete, get};
use countersign_json::canonical::Digest;
use countersign_store::{Store as _, StoredLogin};
use countersign_types::time::Clock as _;
use serde_json::json;

use crate::api::credentials::end_session;
use crate::api::{Api, ApiProblem, ApiResult, authenticate};

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/sessions", get(list)).route("/v1/sessions/{session}", delete(end))
}

/// An id for a session that does not reveal its secret.
fn id_of(login: &StoredLogin) -> String {
    let digest = Digest::of(login.secret.as_bytes()).to_string();
    digest.get(..24).unwrap_or_default().to_owned()
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let now = api.gate.clock().now().at;
    let logins = api.gate.store().logins().await?;
    let own = logins.iter().filter(|login| login.person == identity.person);
    let sessions: Vec<_> = own
        .map(|login| {
            let used = api.directory.last_used(login, now);
            json!({
                "id": id_of(login), "channel": login.channel, "made": login.made,
                "used": used, "expires": login.expires, "current": login.secret == identity.login,
            })
        })
        .collect();
    Ok(axum::Json(json!({ "sessions": sessions })).into_response())
}

async fn end(State(api): State<Api>, Path(id): Path<String>, headers: HeaderMap) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let logins = api.gate.store().logins().await?;
    let mut own = logins.into_iter().filter(|login| login.person == identity.person);
    let found = own.find(|login| id_of(login) == id);
    let login = found.ok_or_else(|| ApiProblem::not_found("session not found"))?;
    end_session(&api, login).await?;
    Ok(axum::Json(json!({ "id": id, "ended": true })).into_response())
}
