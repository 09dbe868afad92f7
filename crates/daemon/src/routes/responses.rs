//! Responses that no handler makes, and the headers that every response has.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::api::ApiProblem;

/// The path has no route.
pub async fn not_found() -> ApiProblem {
    ApiProblem::not_found("route not found")
}

/// The route has no handler for the method.
pub async fn method_not_allowed() -> ApiProblem {
    ApiProblem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        "Method not allowed",
        "this route does not allow this method",
    )
}

/// The request is for another host, or from a page of another origin.
pub fn host_not_allowed() -> ApiProblem {
    ApiProblem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "misdirected",
        "Host not allowed",
        "the Host or Origin header is not allowed here; add the name to `listen.hosts` if it is \
         yours",
    )
}

/// Adds the headers that every response has.
pub fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
