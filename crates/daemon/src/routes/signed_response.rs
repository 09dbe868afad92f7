//! Signs responses for clients that send a nonce, so that they believe the daemon's key and not its
//! address.

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use countersign_json::canonical::Digest;
use countersign_ledger::response_signature::{
    NONCE_HEADER, SIGNATURE_HEADER, SignedExchange, is_nonce,
};

use crate::api::ApiProblem;
use crate::api::fields::read_body;
use crate::keys::Keys;

/// The longest response that is signed; the handlers make none that is longer.
const MAX_RESPONSE: usize = 64 << 20;

/// What the client sent, kept until the response is known.
pub struct SignedRequest {
    nonce: String,
    method: String,
    target: String,
    credential: String,
    body: Digest,
}

impl SignedRequest {
    /// Whether a client asks for a signature.
    pub fn is_wanted(headers: &HeaderMap) -> bool {
        headers.contains_key(NONCE_HEADER)
    }

    /// Reads the whole request, which the caller then handles.
    pub async fn read<B>(request: Request<B>) -> Result<(SignedRequest, Request<Body>), ApiProblem>
    where
        B: hyper::body::Body<Data = Bytes> + Unpin,
    {
        let (parts, body) = request.into_parts();
        let nonce = one_header(&parts, NONCE_HEADER)?;
        if !is_nonce(&nonce) {
            let detail = "Countersign-Nonce must have 22 to 128 characters of base64url";
            return Err(ApiProblem::bad_request(detail));
        }
        let credential = one_header(&parts, header::AUTHORIZATION.as_str())?;
        let target = parts.uri.path_and_query().map_or("", |target| target.as_str()).to_owned();
        let method = parts.method.as_str().to_owned();
        let bytes = read_body(body).await?;
        let body = Digest::of(&bytes);
        let signed = SignedRequest { nonce, method, target, credential, body };
        Ok((signed, Request::from_parts(parts, Body::from(bytes))))
    }

    /// The response with its signature. A stream of events has none: nothing may run because of it.
    pub async fn sign(self, keys: &Keys, response: Response) -> Response {
        let (mut parts, body) = response.into_parts();
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return Response::from_parts(parts, body);
        }
        let Ok(bytes) = axum::body::to_bytes(body, MAX_RESPONSE).await else {
            let (status, title) = (StatusCode::INTERNAL_SERVER_ERROR, "Response not signed");
            let detail = "the response could not be signed";
            return ApiProblem::new(status, "internal", title, detail).into_response();
        };
        let signature = keys.sign_response(&SignedExchange {
            nonce: &self.nonce,
            method: &self.method,
            target: &self.target,
            credential: &self.credential,
            request: self.body,
            status: parts.status.as_u16(),
            response: Digest::of(&bytes),
        });
        if let Ok(value) = HeaderValue::try_from(signature) {
            parts.headers.insert(SIGNATURE_HEADER, value);
        }
        Response::from_parts(parts, Body::from(bytes))
    }
}

/// The value of a header that may be there once; empty without one.
fn one_header(parts: &Parts, name: &str) -> Result<String, ApiProblem> {
    let mut values = parts.headers.get_all(name).iter();
    let value = values.next().map_or(Ok(""), |value| value.to_str());
    match (value, values.next()) {
        (Ok(value), None) => Ok(value.to_owned()),
        _ => Err(ApiProblem::bad_request(format!("`{name}` must be one header of visible text"))),
    }
}

#[cfg(test)]
mod tests;
