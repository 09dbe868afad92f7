//! Permits: signed, single-use proof that one exact call was approved (compact JWS).

use std::fmt;

use countersign_json::base64;
use countersign_json::canonical::CallDigest;
use countersign_json::{self as json, Value, write_string};

mod claims;
mod jwk;

#[cfg(test)]
mod tests;

pub use claims::Claims;
pub use jwk::{jwk, jwks, thumbprint};

/// The longest permit.
pub const MAX_PERMIT: usize = 8 << 10;

/// The longest id of a key.
pub const MAX_KID: usize = 128;

/// The type of a permit, so that no other token of the same key is accepted as one.
const TYPE: &str = "countersign-permit+jwt";

/// A parsed permit. Nothing in it is verified before `check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The id of the key that supposedly signed.
    pub kid: String,
    /// The claims.
    pub claims: Claims,
    /// The signed text.
    pub signing_input: &'a str,
    /// The signature.
    pub signature: [u8; 64],
}

/// The call that an executor is about to run.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The digests of that call.
    pub digest: CallDigest,
    /// The agent that the executor acts for.
    pub agent: &'a str,
    /// The name of the executor, if it has one. A permit for another executor is rejected.
    pub audience: Option<&'a str>,
    /// Seconds since 1970.
    pub now_s: i64,
    /// By how many seconds the executor's clock may be behind the signer's; 0 unless known. Leeway
    /// never makes a permit last longer.
    pub leeway_s: u16,
}

/// Why a permit is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermitError {
    /// Longer than `MAX_PERMIT`.
    TooLong,
    /// Not three parts of base64url.
    Shape,
    /// The header is not JSON.
    Header,
    /// The header names another algorithm than `EdDSA`, or none.
    Algorithm,
    /// The header does not have the type of a permit.
    Type,
    /// The header names no key, or a key id that is empty or too long.
    Kid,
    /// The header has an unknown member, such as `crit`.
    Unknown,
    /// The payload is not JSON.
    Payload,
    /// A claim is missing, wrong or unknown.
    Claim(&'static str),
    /// Not the canonical form; only one form is accepted.
    NotCanonical,
    /// The signature is invalid, or the key is unknown.
    Signature,
    /// It is for another call.
    OtherCall,
    /// It is for another agent.
    OtherAgent,
    /// It is for another executor.
    OtherAudience,
    /// It is not valid yet.
    NotYet,
    /// It has expired.
    Expired,
}

/// The text to sign.
pub fn signing_input(claims: &Claims, kid: &str) -> Result<String, PermitError> {
    claims.check_times()?;
    let header = header(kid)?;
    let text = format!(
        "{}.{}",
        base64::encode_url(header.as_bytes()),
        base64::encode_url(claims.to_json().as_bytes())
    );
    // Room for a dot and the 86 characters of a signature.
    if text.len() + 87 > MAX_PERMIT { Err(PermitError::TooLong) } else { Ok(text) }
}

/// The permit from the signed text and its signature.
pub fn assemble(signing_input: &str, signature: &[u8; 64]) -> String {
    format!("{signing_input}.{}", base64::encode_url(signature))
}

/// Parses a permit without verifying it. Each permit has exactly one text.
pub fn parse(text: &str) -> Result<Parsed<'_>, PermitError> {
    if text.len() > MAX_PERMIT {
        return Err(PermitError::TooLong);
    }
    let (signing_input, signature) = text.rsplit_once('.').ok_or(PermitError::Shape)?;
    let (header, payload) = signing_input.split_once('.').ok_or(PermitError::Shape)?;
    let part = |text: &str| base64::decode_url(text).map_err(|_| PermitError::Shape);
    let signature = part(signature)?;
    let signature = <[u8; 64]>::try_from(signature).map_err(|_| PermitError::Shape)?;
    let kid = read_header(&part(header)?)?;
    let claims = Claims::from_json(&part(payload)?)?;
    Ok(Parsed { kid, claims, signing_input, signature })
}

/// Whether a permit allows this call now. `holds` receives the id of a key, a message and a
/// signature, and returns whether it is a strict Ed25519 signature of a trusted key.
///
/// Single use is not checked here: only the ledger knows which permits were used.
pub fn check<'p>(
    parsed: &'p Parsed<'_>,
    expected: &Expected<'_>,
    holds: impl FnOnce(&str, &[u8], &[u8; 64]) -> bool,
) -> Result<&'p Claims, PermitError> {
    let Parsed { kid, claims, signing_input, signature } = parsed;
    // The signature first: nothing in an unsigned text matters.
    if !holds(kid, signing_input.as_bytes(), signature) {
        return Err(PermitError::Signature);
    }
    if !claims.call().binds(&expected.digest) {
        return Err(PermitError::OtherCall);
    }
    if claims.sub != expected.agent {
        return Err(PermitError::OtherAgent);
    }
    if claims.aud.is_some() && claims.aud.as_deref() != expected.audience {
        return Err(PermitError::OtherAudience);
    }
    if expected.now_s.saturating_add(i64::from(expected.leeway_s)) < claims.iat {
        return Err(PermitError::NotYet);
    }
    if expected.now_s >= claims.exp { Err(PermitError::Expired) } else { Ok(claims) }
}

/// The only accepted header.
fn header(kid: &str) -> Result<String, PermitError> {
    if kid.is_empty() || kid.len() > MAX_KID {
        return Err(PermitError::Kid);
    }
    let mut out = "{\"alg\":\"EdDSA\",\"kid\":".to_owned();
    write_string(kid, &mut out);
    out.push_str(",\"typ\":\"");
    out.push_str(TYPE);
    out.push_str("\"}");
    Ok(out)
}

fn read_header(bytes: &[u8]) -> Result<String, PermitError> {
    let value = json::parse_bytes(bytes).map_err(|_| PermitError::Header)?;
    let members = value.as_object().ok_or(PermitError::Header)?;
    let said = |key| value.get(key).and_then(Value::as_str);
    if said("alg") != Some("EdDSA") {
        return Err(PermitError::Algorithm);
    }
    if said("typ") != Some(TYPE) {
        return Err(PermitError::Type);
    }
    let kid = said("kid").ok_or(PermitError::Kid)?;
    if members.iter().any(|(key, _)| !matches!(&**key, "alg" | "kid" | "typ")) {
        return Err(PermitError::Unknown);
    }
    if header(kid)?.as_bytes() == bytes {
        Ok(kid.to_owned())
    } else {
        Err(PermitError::NotCanonical)
    }
}

impl fmt::Display for PermitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PermitError::TooLong => "the permit is too long",
            PermitError::Shape => "the permit is not three parts of base64url",
            PermitError::Header => "the permit's header is not a JSON object",
            PermitError::Algorithm => "the permit is not signed with EdDSA",
            PermitError::Type => "the token is not a permit",
            PermitError::Kid => "the permit does not name its key",
            PermitError::Unknown => "the permit's header has an unknown member",
            PermitError::Payload => "the permit's payload is not a JSON object",
            PermitError::Claim(name) => {
                return write!(f, "the permit's claim \"{name}\" is missing, wrong or unknown");
            }
            PermitError::NotCanonical => "the permit is not in canonical form",
            PermitError::Signature => "the permit's signature is invalid, or its key is unknown",
            PermitError::OtherCall => "the permit is for another call",
            PermitError::OtherAgent => "the permit is for another agent",
            PermitError::OtherAudience => "the permit is for another executor",
            PermitError::NotYet => "the permit is not valid yet",
            PermitError::Expired => "the permit has expired",
        })
    }
}

impl std::error::Error for PermitError {}
