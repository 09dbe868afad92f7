//! Who sent a request: an agent or a person, from the request alone.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use countersign_types::time::Clock as _;
use subtle::ConstantTimeEq as _;

use super::session_key::{SessionRequest, proven_cookie};
use super::{Api, ApiProblem};
pub use crate::auth::ANONYMOUS;
use crate::auth::{AuthError, PersonIdentity};
use crate::gate::Caller;
use crate::listeners::Peer;

/// The cookie of a browser session.
pub const COOKIE: &str = "countersign";

/// The cookie where the people API is reached over TLS: no other host and no page without TLS can
/// set it.
pub const HOST_COOKIE: &str = "__Host-countersign";

/// The channel name of browser sessions.
pub const WEB: &str = "web";

/// The header that must go with the cookie to change anything: a signature of the session's key
/// over the request. Browsers send cookies to every port of a host, so a server run by an agent may
/// receive one; the key cannot leave its browser.
pub const PROOF: &str = "x-countersign-proof";

/// The agent that sent a request: by token, or by the Unix socket it connected through.
pub fn agent(api: &Api, request: &Request) -> Result<Caller, ApiProblem> {
    agent_from_headers(api, request.headers(), request.extensions().get().copied())
}

/// The agent, from the headers and the peer of the connection.
pub fn agent_from_headers(
    api: &Api,
    headers: &HeaderMap,
    peer: Option<Peer>,
) -> Result<Caller, ApiProblem> {
    let now = api.gate.clock().now().at;
    match (bearer(headers)?, peer) {
        (Some(token), _) => Ok(api.directory.agent(token, now)?),
        (None, Some(Peer::User(uid))) => Ok(api.directory.socket_peer(uid, now)),
        (None, _) => Err(AuthError::Missing.into()),
    }
}

/// The agent on `/confirm` and `/pending`: without a token it is anonymous, if it is on this
/// machine and the configuration allows that.
pub fn confirm_agent(
    api: &Api,
    headers: &HeaderMap,
    peer: Option<Peer>,
) -> Result<Arc<Caller>, ApiProblem> {
    let local = matches!(peer, Some(Peer::Network { local: true }));
    if local && bearer(headers)?.is_none() && api.gate.rules().confirm_without_token {
        return Ok(Arc::clone(&api.anonymous));
    }
    agent_from_headers(api, headers, peer).map(Arc::new)
}

/// The person who sent a request: by token, or by the cookie of a browser session.
pub fn person(api: &Api, headers: &HeaderMap) -> Result<PersonIdentity, ApiProblem> {
    let (secret, by_cookie) = match bearer(headers)? {
        Some(token) => (token, false),
        None => (cookie(api, headers)?.ok_or(AuthError::Missing)?, true),
    };
    let idle = api.gate.rules().idle;
    let identity = api.directory.person(secret, idle, api.gate.clock().now().at)?;
    // A stolen cookie must not work as a token, because a token needs no proof.
    if by_cookie == (identity.channel == WEB) {
        Ok(identity)
    } else {
        Err(AuthError::Invalid.into())
    }
}

/// Records that a person did something, if one sent this request. A cookie must have its proof.
pub fn record_use(api: &Api, headers: &HeaderMap) {
    if let Ok(identity) = person(api, headers) {
        api.directory.record_use(identity.login, api.gate.clock().now().at);
    }
}

/// The administrator who sent a request.
pub fn administrator(api: &Api, headers: &HeaderMap) -> Result<PersonIdentity, ApiProblem> {
    let identity = person(api, headers)?;
    identity.administrator()?;
    Ok(identity)
}

/// Whether a request would change something with a cookie, so that it needs a proof.
pub fn needs_proof(api: &Api, method: &Method, headers: &HeaderMap) -> Result<bool, ApiProblem> {
    if [Method::GET, Method::HEAD].contains(method) || bearer(headers)?.is_some() {
        return Ok(false);
    }
    Ok(cookie(api, headers)?.is_some())
}

/// Rejects a request with a cookie that the key of its session did not sign.
pub fn check_proof(api: &Api, parts: &Parts, body: &[u8]) -> Result<(), ApiProblem> {
    let headers = &parts.headers;
    let Some(secret) = cookie(api, headers)? else { return Ok(()) };
    person(api, headers)?;
    let mut given = headers.get_all(PROOF).iter();
    let (Some(given), None) = (given.next(), given.next()) else {
        return Err(AuthError::MissingProof.into());
    };
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let request = SessionRequest { method: parts.method.as_str(), path, body };
    let now = api.gate.clock().now().at.0;
    let signed = given.to_str().ok().and_then(|proof| proven_cookie(proof, &request, now));
    let signed = signed.unwrap_or_default();
    let proven = bool::from(signed.as_bytes().ct_eq(secret.as_bytes()));
    if proven { Ok(()) } else { Err(AuthError::MissingProof.into()) }
}

/// The bearer token. An unreadable one is rejected, not ignored.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, ApiProblem> {
    let mut found = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), rest) = (found.next(), found.next()) else { return Ok(None) };
    let token = value.to_str().ok().and_then(|text| text.split_once(' '));
    match (token, rest) {
        (Some((scheme, token)), None) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token)),
        _ => Err(AuthError::Invalid.into()),
    }
}

/// The session cookie. Two of them are rejected: a page on another port may have set one.
fn cookie<'h>(api: &Api, headers: &'h HeaderMap) -> Result<Option<&'h str>, ApiProblem> {
    let wanted = if api.people_hosts.is_https(headers) { HOST_COOKIE } else { COOKIE };
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|text| text.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    let mut ours = pairs.filter(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim());
    match (ours.next(), ours.next()) {
        (found, None) => Ok(found),
        (_, Some(_)) => Err(AuthError::Invalid.into()),
    }
}
