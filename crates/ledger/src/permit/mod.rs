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

/// What a permit says it is, so that no other token of the same key passes for one.
const TYPE: &str = "countersign-permit+jwt";

/// A permit as it was read. Nothing of it is to be believed before `check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// Which key is said to have signed.
    pub kid: String,
    /// What it says.
    pub claims: Claims,
    /// What was signed.
    pub signing_input: &'a str,
    /// The signature.
    pub signature: [u8; 64],
}

/// What an executor is about to do, and when.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The digests of the call that it holds in its hands.
    pub digest: CallDigest,
    /// The agent that it acts for.
    pub agent: &'a str,
    /// Its own name, if it has one. A permit made out to somebody is for nobody else.
    pub audience: Option<&'a str>,
    /// Seconds since 1970.
    pub now_s: i64,
    /// By how many seconds its clock may run behind the signer's; 0 unless that is known. It never
    /// makes a permit last longer.
    pub leeway_s: u16,
}

/// Why a permit permits nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermitError {
    /// Longer than `MAX_PERMIT`.
    TooLong,
    /// Not three parts of base64url.
    Shape,
    /// The header is not JSON.
    Header,
    /// The header says another algorithm than `EdDSA`, or none.
    Algorithm,
    /// The header does not say that this is a permit.
    Type,
    /// The header names no key, or one whose id is empty or too long.
    Kid,
    /// The header asks for something that nobody here knows, `crit` for one.
    Unknown,
    /// The payload is not JSON.
    Payload,
    /// A claim is missing or not what it must be, or stands there and is not known.
    Claim(&'static str),
    /// The same could be said in other bytes; only one form is taken.
    NotCanonical,
    /// The signature does not hold, or the key is not known.
    Signature,
    /// It is for another call.
    OtherCall,
    /// It is for another agent.
    OtherAgent,
    /// It is for another executor.
    OtherAudience,
    /// Its time has not come.
    NotYet,
    /// Its time is over.
    Expired,
}

/// What is to be signed.
pub fn signing_input(claims: &Claims, kid: &str) -> Result<String, PermitError> {
    claims.check_times()?;
    let header = header(kid)?;
    let text = format!(
        "{}.{}",
        base64::encode_url(header.as_bytes()),
        base64::encode_url(claims.to_json().as_bytes())
    );
    // A dot and the 86 letters of a signature are still to come.
    if text.len() + 87 > MAX_PERMIT { Err(PermitError::TooLong) } else { Ok(text) }
}

/// The permit from what was signed and its signature.
pub fn assemble(signing_input: &str, signature: &[u8; 64]) -> String {
    format!("{signing_input}.{}", base64::encode_url(signature))
}

/// Reads a permit without believing it. Each permit has one text only.
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

/// Says whether a permit permits this call, now. `holds` is given the id of a key, a message and
/// a signature, and says whether that is a strict Ed25519 signature of a key that is trusted.
///
/// That a permit is used only once is not seen here: whoever keeps the ledger must be asked.
pub fn check<'p>(
    parsed: &'p Parsed<'_>,
    expected: &Expected<'_>,
    holds: impl FnOnce(&str, &[u8], &[u8; 64]) -> bool,
) -> Result<&'p Claims, PermitError> {
    let Parsed { kid, claims, signing_input, signature } = parsed;
    // First: of what nobody signed, nothing else is worth saying.
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

/// The one header there is.
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
            PermitError::Type => "this is a token, but no permit",
            PermitError::Kid => "the permit does not name its key",
            PermitError::Unknown => "the permit's header asks for something unknown",
            PermitError::Payload => "the permit's payload is not a JSON object",
            PermitError::Claim(name) => {
                return write!(f, "the permit's claim \"{name}\" is missing or wrong");
            }
            PermitError::NotCanonical => "the permit is not in canonical form",
            PermitError::Signature => "the permit's signature does not hold",
            PermitError::OtherCall => "the permit is for another call",
            PermitError::OtherAgent => "the permit is for another agent",
            PermitError::OtherAudience => "the permit is for another executor",
            PermitError::NotYet => "the permit is not valid yet",
            PermitError::Expired => "the permit has expired",
        })
    }
}

impl std::error::Error for PermitError {}
