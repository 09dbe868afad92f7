//! Who asks: an agent or a person, from the request alone.

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use countersign_core::time::Clock as _;

use super::{Api, Problem};
use crate::auth::{Stranger, Who};
use crate::doors::Peer;
use crate::gate::Caller;

/// The cookie of a browser session.
pub const COOKIE: &str = "countersign";

/// The name of callers of the seed's routes that come without a token.
pub const ANONYMOUS: &str = "anonymous";

/// The agent that asks: by token, or by the socket it came through.
pub fn agent(api: &Api, request: &Request) -> Result<Caller, Problem> {
    let peer = request.extensions().get::<Peer>().copied();
    match (bearer(request.headers())?, peer) {
        (Some(token), _) => Ok(api.book.agent(token, api.gate.clock().now().at)?),
        (None, Some(Peer::User(uid))) => Ok(api.book.socket_peer(uid)),
        (None, _) => Err(Stranger::Nobody.into()),
    }
}

/// The same for the seed's routes, which knew no tokens: from this machine, if that is allowed.
pub fn seed_agent(api: &Api, request: &Request) -> Result<Caller, Problem> {
    let peer = request.extensions().get::<Peer>().copied();
    let local = matches!(peer, Some(Peer::Network { local: true }));
    if local && bearer(request.headers())?.is_none() && api.gate.rules().seed_without_token {
        return Ok(Caller { agent: ANONYMOUS.to_owned(), own_addresses: [].into() });
    }
    agent(api, request)
}

/// The person who asks: by token, or by the cookie of their browser session.
pub fn person(api: &Api, headers: &HeaderMap) -> Result<Who, Problem> {
    let secret = match bearer(headers)? {
        Some(token) => token,
        None => cookie(headers).ok_or(Stranger::Nobody)?,
    };
    Ok(api.book.person(secret, api.gate.clock().now().at)?)
}

/// A bearer token; one that cannot be read is refused, not passed over.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut found = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), rest) = (found.next(), found.next()) else { return Ok(None) };
    let token = value.to_str().ok().and_then(|text| text.split_once(' '));
    match (token, rest) {
        (Some((scheme, token)), None) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token)),
        _ => Err(Stranger::Unknown.into()),
    }
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|text| text.to_str().ok());
    let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE).map(|(_, value)| value.trim())
}
