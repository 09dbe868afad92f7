//! Offers: how to ask a person about a denied call, bound to exactly that call.

use countersign_json::base64;
use countersign_json::canonical::CallDigest;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use ed25519_dalek::{Signature, Signer as _, SigningKey};

use crate::random::{self, EntropyUnavailable};

/// The prefix of the signed text, so that no other signature can be used as an offer.
const TAG: &str = "countersign/offer/1\0";

/// Signs and checks binding tokens. The key lives as long as the daemon: a token from before a
/// restart is rejected, and the enforcement point evaluates again.
pub struct OfferSigner {
    key: SigningKey,
}

/// What a token is bound to.
#[derive(Clone, Copy)]
pub struct OfferTerms<'a> {
    /// The agent.
    pub agent: &'a str,
    /// Its call.
    pub digest: &'a CallDigest,
    /// The evaluation that denied it.
    pub evaluation: Id,
    /// When the offer expires.
    pub until: Timestamp,
}

/// Why a token is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferError {
    /// The signature is not ours, or is for another call, agent or time.
    Foreign,
    /// The offer has expired.
    Over,
}

impl OfferSigner {
    /// With a new key.
    pub fn new() -> Result<OfferSigner, EntropyUnavailable> {
        Ok(OfferSigner { key: SigningKey::from_bytes(&random::bytes()?) })
    }

    /// The token of an offer.
    pub fn token(&self, terms: OfferTerms<'_>) -> String {
        let signature = self.key.sign(message(terms).as_bytes()).to_bytes();
        let OfferTerms { evaluation, until, .. } = terms;
        format!("{evaluation}.{}.{}", until.0, base64::encode_url(&signature))
    }

    /// Whether a token is for this agent's call and still valid: its evaluation and expiry.
    pub fn check(
        &self,
        token: &str,
        agent: &str,
        digest: &CallDigest,
        now: Timestamp,
    ) -> Result<(Id, Timestamp), OfferError> {
        let mut parts = token.splitn(3, '.');
        let evaluation = parts.next().and_then(Id::parse).ok_or(OfferError::Foreign)?;
        let until = parts.next().and_then(|text| text.parse().ok()).ok_or(OfferError::Foreign)?;
        let until = Timestamp(until);
        let signature = parts.next().and_then(|text| base64::decode_url(text).ok());
        let signature = signature.and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
        let signature = Signature::from_bytes(&signature.ok_or(OfferError::Foreign)?);
        let signed = message(OfferTerms { agent, digest, evaluation, until });
        let key = self.key.verifying_key();
        key.verify_strict(signed.as_bytes(), &signature).map_err(|_| OfferError::Foreign)?;
        if now >= until { Err(OfferError::Over) } else { Ok((evaluation, until)) }
    }
}

/// The signed text. It includes the raw digest where the raw bytes bind as well.
fn message(terms: OfferTerms<'_>) -> String {
    let OfferTerms { agent, digest, evaluation, until } = terms;
    let raw = digest.both_bind.then(|| digest.raw.to_string());
    let canonical = digest.canonical.to_string();
    let signed = serde_json::json!([agent, canonical, raw, evaluation, until.0]);
    format!("{TAG}{signed}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_json::canonical::Digest;

    #[test]
    fn a_token_binds_one_agent_one_call_and_one_time() {
        let offers = OfferSigner::new().unwrap();
        let digest = |text: &str, both_bind| CallDigest {
            canonical: Digest::of(text.as_bytes()),
            raw: Digest::of(b"raw"),
            both_bind,
        };
        let call = digest("call", false);
        let evaluation = random::id(Timestamp(5)).unwrap();
        let until = Timestamp(1000);
        let token = offers.token(OfferTerms { agent: "a", digest: &call, evaluation, until });
        let check = |token: &str, agent: &str, call: &CallDigest, now| {
            offers.check(token, agent, call, Timestamp(now))
        };
        assert_eq!(check(&token, "a", &call, 999), Ok((evaluation, until)));
        assert_eq!(check(&token, "a", &call, 1000), Err(OfferError::Over));
        assert_eq!(check(&token, "b", &call, 1), Err(OfferError::Foreign));
        assert_eq!(check(&token, "a", &digest("other", false), 1), Err(OfferError::Foreign));
        assert_eq!(check(&token, "a", &digest("call", true), 1), Err(OfferError::Foreign));
        let later = token.replacen(".1000.", ".9000.", 1);
        assert_eq!(
            check(&later, "a", &call, 1),
            Err(OfferError::Foreign),
            "time cannot be stretched"
        );
        for broken in ["", ".", "..", "x.1.y", token.trim_end_matches(|_: char| true)] {
            assert_eq!(check(broken, "a", &call, 1), Err(OfferError::Foreign));
        }
        let another = OfferSigner::new().unwrap();
        assert_eq!(another.check(&token, "a", &call, Timestamp(1)), Err(OfferError::Foreign));
    }
}
