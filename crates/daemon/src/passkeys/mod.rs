//! Passkeys (`WebAuthn` Level 2): a person's device signs one decision about one call.
//!
//! The challenge is a hash over the request, the call, the answer and a nonce of ours, so that a
//! signature says exactly what was approved, and can be verified from the ledger years later.

pub mod assertion;
mod authenticator_data;
mod cbor;
mod challenges;
pub mod client_data;
mod key;
mod ledger_check;
pub mod registration;

#[cfg(test)]
pub(crate) mod test_authenticator;
#[cfg(test)]
mod tests;

use countersign_json::canonical::Digest;

pub use assertion::Assertion;
pub use authenticator_data::MAX_CREDENTIAL_ID;
#[cfg(test)]
pub use challenges::decision_challenge;
pub use challenges::{Challenges, Purpose, SignedDecision};
pub use key::{ALGORITHMS, PasskeyKey, algorithm_name};
pub use ledger_check::LedgerSignatureCheck;

/// The place for which a passkey is good: the host's name, without scheme and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelyingParty<'a>(pub &'a str);

/// Why a passkey or its signature does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyError {
    /// It is cut off, too long, or not what it should be.
    #[error("what the passkey sent cannot be read")]
    Unreadable,
    /// A registration instead of a signature, or the other way round.
    #[error("the passkey was asked for something else")]
    Ceremony,
    /// Not one of ours, or used, or too old, or for something or somebody else.
    #[error("this was not asked for, was used already, or took too long: try again")]
    Challenge,
    /// Another page.
    #[error("the passkey was used on a page that is not ours")]
    Origin,
    /// Another place.
    #[error("the passkey is for another place")]
    RelyingParty,
    /// Nobody touched it, or it does not know who did.
    #[error("the passkey did not check who uses it (a finger, a face or a PIN)")]
    UserNotVerified,
    /// No such passkey, or somebody else's.
    #[error("this passkey is not one of yours")]
    Unknown,
    /// An algorithm that we do not take.
    #[error("this kind of passkey is not taken: ES256 or EdDSA is needed")]
    Algorithm,
    /// The signature does not fit.
    #[error("the signature is wrong")]
    Signature,
    /// It is new, and its waiting period is not over.
    #[error("this passkey is new and cannot sign yet: its waiting period is not over")]
    Waiting,
    /// Its count went back or stood still.
    #[error("this passkey has counted backwards, so there may be a copy of it: remove it")]
    Copied,
}

impl From<cbor::Malformed> for PasskeyError {
    fn from(_: cbor::Malformed) -> PasskeyError {
        PasskeyError::Unreadable
    }
}

impl PasskeyError {
    /// One word for the ledger and for programs.
    pub const fn word(self) -> &'static str {
        match self {
            PasskeyError::Unreadable => "unreadable",
            PasskeyError::Ceremony => "ceremony",
            PasskeyError::Challenge => "challenge",
            PasskeyError::Origin => "origin",
            PasskeyError::RelyingParty => "relying-party",
            PasskeyError::UserNotVerified => "user-not-verified",
            PasskeyError::Unknown => "unknown",
            PasskeyError::Algorithm => "algorithm",
            PasskeyError::Signature => "signature",
            PasskeyError::Waiting => "waiting",
            PasskeyError::Copied => "copied",
        }
    }
}

/// What registrations and signatures have in common: the right place, and somebody there.
fn check_relying_party(
    data: &authenticator_data::AuthenticatorData<'_>,
    relying_party: RelyingParty<'_>,
) -> Result<(), PasskeyError> {
    if data.relying_party != *Digest::of(relying_party.0.as_bytes()).as_bytes() {
        return Err(PasskeyError::RelyingParty);
    }
    if data.verified { Ok(()) } else { Err(PasskeyError::UserNotVerified) }
}
