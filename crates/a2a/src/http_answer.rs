//! Answers of the HTTP+JSON binding.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use crate::error::A2aError;
use crate::handlers::json_response;

/// A result or an error as the binding writes them.
pub fn http_answer(result: Result<Value, A2aError>) -> Response {
    match result {
        Ok(body) => json_response(StatusCode::OK, &body),
        Err(error) => {
            let status = StatusCode::from_u16(error.http_status());
            json_response(status.unwrap_or(StatusCode::BAD_REQUEST), &error.to_http())
        }
    }
}
