//! Which routes of the people API need a step-up proof. A route in neither [`NEEDED`] nor
//! [`EXEMPT`] is not served.

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::Method;

use super::responses::method_not_allowed;
use crate::api::step_up::{self, BEGIN};
use crate::api::v1::{LOGIN, RECOVER};
use crate::api::{Api, ApiProblem, authenticate, fields};
use crate::inbox::{CHECK_EDIT, DENY};

/// Changes of people and rights: each needs a proof.
pub const NEEDED: [(&str, &str); 32] = [
    ("POST", "/v1/people"),
    ("DELETE", "/v1/people/{name}"),
    ("POST", "/v1/people/{name}/passphrase"),
    ("POST", "/v1/people/{name}/recovery"),
    ("POST", "/v1/people/{name}/role"),
    ("POST", "/v1/passkeys"),
    ("POST", "/v1/passkeys/{credential}/remove"),
    ("POST", "/v1/agents"),
    ("DELETE", "/v1/agents/{name}"),
    ("POST", "/v1/agents/{name}/token"),
    ("POST", "/v1/grants"),
    ("DELETE", "/v1/grants/{id}"),
    ("POST", "/v1/servers/{id}/labels"),
    ("POST", "/v1/pki"),
    ("POST", "/v1/pki/certificates"),
    ("POST", "/v1/pki/revocations"),
    ("POST", "/v1/channels/{name}/link"),
    ("DELETE", "/v1/accounts/{channel}/{account}"),
    ("POST", "/v1/push"),
    ("DELETE", "/v1/push/{browser}"),
    ("POST", "/v1/quarantines/lift"),
    ("POST", "/v1/crises/lift"),
    ("POST", "/v1/crises/take-over"),
    ("POST", "/v1/ledger/acknowledge"),
    ("POST", "/v1/ledger/clock"),
    ("POST", "/v1/mode"),
    ("POST", "/v1/policy"),
    ("POST", "/v1/config"),
    ("POST", "/v1/policy/projects"),
    ("POST", "/v1/policy/projects/revoke"),
    ("POST", "/v1/policy/rules"),
    ("POST", "/v1/thaw"),
];

/// Changes without a proof, and why.
pub const EXEMPT: [(&str, &str); 20] = [
    // These authenticate by themselves.
    ("POST", LOGIN),
    ("POST", DENY),
    ("POST", RECOVER),
    // Ending an own session takes rights away from no one else.
    ("DELETE", LOGIN),
    ("DELETE", "/v1/sessions/{session}"),
    // Answers: the workflow checks the assurance that each tier needs. A grant given with an answer
    // is checked where the answer is read.
    ("POST", "/v1/requests/{id}/decision"),
    ("POST", "/v1/decisions"),
    ("POST", "/respond"),
    // What ran already is kept, or its files become as they were: neither gives a right. `force`
    // replaces later changes, and is checked where the decision is read.
    ("POST", "/v1/reviews/{id}/decision"),
    // Feedback only takes suggestions and learned grants away.
    ("POST", "/v1/requests/{id}/feedback"),
    // A check of an edit assesses the edited call for the person and stores nothing. The approval
    // of the edit is a separate request.
    ("POST", "/v1/requests/{id}/edit"),
    ("POST", CHECK_EDIT),
    // Challenges have no effect until they are signed.
    ("POST", "/v1/requests/{id}/challenge"),
    ("POST", "/v1/passkeys/begin"),
    ("POST", BEGIN),
    // Platforms sign what they post, and the content is checked like any other answer.
    ("POST", "/hooks/{channel}"),
    // A freeze only stops calls.
    ("POST", "/v1/freeze"),
    // These change no rights: presence, one test message, one drill.
    ("POST", "/v1/me"),
    ("POST", "/v1/channels/{name}/test"),
    ("POST", "/v1/drills"),
];

/// Whether a request to this route needs a proof; none if the route does not allow the method. A
/// new route is rejected until it is added to one of the lists.
fn is_needed(method: &Method, route: &str) -> Option<bool> {
    let one = (method.as_str(), route);
    if [Method::GET, Method::HEAD].contains(method) || EXEMPT.contains(&one) {
        Some(false)
    } else {
        NEEDED.contains(&one).then_some(true)
    }
}

/// Checks a request to the people API before its handler runs.
pub async fn check(api: &Api, request: Request) -> Result<Request, ApiProblem> {
    // Without a route nothing can be changed.
    let Some(route) = request.extensions().get::<MatchedPath>() else { return Ok(request) };
    match is_needed(request.method(), route.as_str()) {
        Some(true) => {}
        Some(false) => return Ok(request),
        None => return Err(method_not_allowed().await),
    }
    let identity = authenticate::person(api, request.headers())?;
    let (mut parts, body) = request.into_parts();
    let bytes = fields::read_body(body).await?;
    let proven = step_up::prove(api, &identity, &parts, &bytes).await?;
    parts.extensions.insert(proven);
    Ok(Request::from_parts(parts, Body::from(bytes)))
}
