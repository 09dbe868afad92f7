//! The people API: its routes, and the checks before each handler.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use tracing::Instrument as _;

use super::responses::{host_not_allowed, method_not_allowed, not_found, with_security_headers};
use super::step_up;
use crate::api::{Api, ApiProblem, authenticate, confirm, fields, health, respond, v1, webhooks};
use crate::inbox;
use crate::listeners::ConnectionUse;

/// The people API.
pub fn people(api: &Api) -> Router {
    Router::new()
        .route("/health", get(health::seed))
        .route("/ready", get(health::ready))
        .route("/pending", get(confirm::pending))
        .route("/respond", post(respond::respond))
        .route("/hooks/{channel}", post(webhooks::posted))
        .merge(crate::api::step_up::people())
        .merge(v1::people())
        .merge(inbox::pages())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(api.clone(), check_people_request))
        .with_state(api.clone())
}

async fn check_people_request(State(api): State<Api>, request: Request, next: Next) -> Response {
    let ours = api.people_hosts.is_host_allowed(request.headers(), request.uri());
    if !ours || !api.people_hosts.is_origin_allowed(request.headers()) {
        return host_not_allowed().into_response();
    }
    if is_read(&request) {
        return handle(&api, request, next).await;
    }
    // A task of its own: a client that disconnects while the store writes would leave a change in
    // the ledger that is not in force.
    let handling = async move {
        let _in_progress = api.now.changes.begin().await;
        handle(&api, request, next).await
    };
    tokio::spawn(handling.in_current_span()).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a change through the people API failed");
        with_security_headers(failed().into_response())
    })
}

fn is_read(request: &Request) -> bool {
    [Method::GET, Method::HEAD].contains(request.method())
}

/// The handler panicked, or the daemon stops.
fn failed() -> ApiProblem {
    let detail = "the request failed inside the daemon; see its log";
    ApiProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", "Request failed", detail)
}

async fn handle(api: &Api, request: Request, next: Next) -> Response {
    if let Some(connection) = request.extensions().get::<ConnectionUse>()
        && authenticate::person(api, request.headers()).is_ok()
    {
        connection.signed_in();
    }
    // These routes take a passphrase or code and ignore the cookie, which may be of an old session
    // without its proof.
    let logs_in = [v1::LOGIN, v1::RECOVER, inbox::DENY].contains(&request.uri().path());
    let request = if logs_in { Ok(request) } else { check_session(api, request).await };
    let request = match request {
        Ok(request) => request,
        Err(problem) => return with_security_headers(problem.into_response()),
    };
    // Pages and terminals read by themselves, so that only a change shows that a person is there. A
    // change with a cookie was signed.
    if !is_read(&request) && !logs_in {
        authenticate::record_use(api, request.headers());
    }
    let response = match step_up::check(api, request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let status = response.status().as_u16();
    api.gate.metrics().answered("people", status);
    if logs_in && matches!(status, 401 | 403 | 429) {
        api.gate.metrics().login_failed();
    }
    with_security_headers(response)
}

/// Rejects a change with a cookie that the key of its session did not sign.
async fn check_session(api: &Api, request: Request) -> Result<Request, ApiProblem> {
    if !authenticate::needs_proof(api, request.method(), request.headers())? {
        return Ok(request);
    }
    // Only a known session may make the daemon read a body here.
    authenticate::person(api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_body(body).await?;
    authenticate::check_proof(api, &parts, &bytes)?;
    Ok(Request::from_parts(parts, Body::from(bytes)))
}
