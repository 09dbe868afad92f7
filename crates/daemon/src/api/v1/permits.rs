//! Permits: verified, used once; and the public key.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_json::Value;
use countersign_json::canonical::CallDigest;
use countersign_ledger::permit;
use countersign_ledger::permit::{Claims, Expected, Parsed, PermitError};
use countersign_risk::call_digest::digest;
use countersign_store::{Redemption, Store as _};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use serde_json::json;

use super::requests;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::gate::Caller;

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new()
        .route("/v1/permits/redeem", post(redeem))
        .route("/v1/permits/verify", post(verify))
        .route("/.well-known/jwks.json", get(keys))
}

async fn keys(State(api): State<Api>) -> ApiResult {
    Ok(([(header::CONTENT_TYPE, "application/jwk-set+json")], api.keys.jwks()).into_response())
}

/// Uses a permit: for exactly its call, by its agent, once and in time. The store decides in one
/// commit, so of several at once only one succeeds.
async fn redeem(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let text = fields.required_text("permit")?;
    let call = presented(&api, &caller, &fields, &value, &bytes)?
        .ok_or_else(|| ApiProblem::bad_request("the call is required: send `tool` or `command`"))?;
    let parsed = permit::parse(text).map_err(|error| ApiProblem::bad_request(error.to_string()))?;
    let claims = check(&api, &parsed, &caller, call).map_err(|error| refused(&error))?;
    let id = Id::parse(&claims.request).ok_or_else(|| refused(&PermitError::Claim("request")))?;
    let at = api.gate.clock().now().at;
    match api.gate.redeem(id, caller.agent, call).await? {
        Redemption::Accepted => {
            Ok(axum::Json(json!({ "redeemed": true, "request": id, "at": at })).into_response())
        }
        Redemption::AlreadyUsed(then) => {
            let then = serde_json::to_value(then).unwrap_or_default();
            let then = then.as_str().unwrap_or("earlier").to_owned();
            Err(rejected("used", format!("this permit was used at {then}")))
        }
        Redemption::Expired => Err(rejected("late", "this permit has expired".to_owned())),
        Redemption::NotApproved(state) => {
            let detail = format!("the request is {}, not approved", state.label());
            Err(rejected("not-approved", detail))
        }
        Redemption::AnotherCall => Err(refused(&PermitError::OtherCall)),
        Redemption::AnotherAgent => Err(refused(&PermitError::OtherAgent)),
    }
}

/// Checks a permit without using it.
async fn verify(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let text = fields.required_text("permit")?;
    let call = presented(&api, &caller, &fields, &value, &bytes)?;
    let parsed = match permit::parse(text) {
        Ok(parsed) => parsed,
        Err(error) => return Ok(validity(Some(&error.to_string()), None)),
    };
    let call = call.unwrap_or(parsed.claims.call());
    if let Err(error) = check(&api, &parsed, &caller, call) {
        // Claims without our signature are not repeated.
        let claims = (error != PermitError::Signature).then_some(&parsed.claims);
        return Ok(validity(Some(&error.to_string()), claims));
    }
    let id = Id::parse(&parsed.claims.request);
    let stored = match id {
        Some(id) => api.gate.store().request(id).await?,
        None => None,
    };
    let now = api.gate.clock().now();
    let why = match stored {
        None => Some("request not found"),
        Some(stored) if stored.redeemed.is_some() => Some("this permit was used already"),
        Some(stored) if stored.permit_until.is_none_or(|until| now.at >= until) => {
            Some("this permit has expired")
        }
        Some(_) if api.gate.integrity().fault().is_some() => {
            Some("the store is not the one that was signed last")
        }
        Some(stored) if api.gate.is_suspended(&stored) => {
            Some("a person froze everything; permits are suspended")
        }
        Some(_) if !now.reliable => Some("the system clock went back"),
        Some(_) => None,
    };
    Ok(validity(why, Some(&parsed.claims)))
}

fn validity(why: Option<&str>, claims: Option<&Claims>) -> axum::response::Response {
    let claims = claims.and_then(|claims| serde_json::from_str(&claims.to_json()).ok());
    let claims: serde_json::Value = claims.unwrap_or_default();
    let body = json!({ "valid": why.is_none(), "why": why, "claims": claims });
    axum::Json(body).into_response()
}

/// The digests of the call that the executor presents, if it presents one.
fn presented(
    api: &Api,
    caller: &Caller,
    fields: &Fields<'_, '_>,
    value: &Value<'_>,
    bytes: &[u8],
) -> Result<Option<CallDigest>, ApiProblem> {
    if fields.get("tool").is_none() && fields.get("command").is_none() {
        fields.finish()?;
        return Ok(None);
    }
    // The call is read as it was submitted, without the permit.
    let members = value.as_object().unwrap_or_default();
    let rest = members.iter().filter(|(key, _)| key != "permit");
    let rest = Value::Object(rest.map(|(key, member)| (key.clone(), member.clone())).collect());
    let mut call = requests::read_call(fields, &rest)?;
    fields.finish()?;
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let raw = fields.raw_call(text);
    // The gate sets agent and environment, as it did when the call was submitted.
    api.gate.assess(&mut call, caller);
    Ok(Some(digest(&call, raw.as_bytes())))
}

fn check<'p>(
    api: &Api,
    parsed: &'p Parsed<'_>,
    caller: &Caller,
    digest: CallDigest,
) -> Result<&'p Claims, PermitError> {
    let holds =
        |kid: &str, message: &[u8], signature: &[u8; 64]| api.keys.holds(kid, message, signature);
    let input = parsed.signing_input.as_bytes();
    // The agent is part of the digest, so it is checked first to name the right cause.
    if holds(&parsed.kid, input, &parsed.signature) && parsed.claims.sub != caller.agent {
        return Err(PermitError::OtherAgent);
    }
    let now_s = api.gate.clock().now().at.seconds();
    let agent = &caller.agent;
    permit::check(parsed, &Expected { digest, agent, audience: None, now_s, leeway_s: 0 }, holds)
}

fn refused(error: &PermitError) -> ApiProblem {
    let why = match error {
        PermitError::OtherCall => "another-call",
        PermitError::OtherAgent | PermitError::OtherAudience => "another-agent",
        PermitError::Expired => "late",
        PermitError::Signature => "not-ours",
        _ => "not-approved",
    };
    rejected(why, error.to_string())
}

fn rejected(why: &'static str, detail: String) -> ApiProblem {
    let title = "Permit rejected";
    let mut problem = ApiProblem::new(StatusCode::CONFLICT, "permit", title, detail);
    problem.why = Some(why);
    problem.with_outcome("denied")
}

#[cfg(test)]
mod tests;
