//! Passkeys (`WebAuthn` Level 2): a person's device signs one decision about one call.
//!
//! The challenge is a hash of the request, the call, the choice and a nonce, so that a signature
//! proves exactly what was approved and can be verified from the ledger years later.

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
#[cfg(test)]
mod w3c_tests;

use countersign_json::canonical::Digest;

pub use assertion::Assertion;
pub use authenticator_data::MAX_CREDENTIAL_ID;
#[cfg(test)]
pub use challenges::decision_challenge;
pub use challenges::{Challenges, Purpose, SignedDecision};
pub use key::{ALGORITHMS, PasskeyKey, algorithm_name};
pub use ledger_check::LedgerSignatureCheck;

/// The relying party id of a passkey: the host name, without scheme and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelyingParty<'a>(pub &'a str);

/// Why a passkey or its signature is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyError {
    /// The data is truncated, too long, or malformed.
    #[error("the passkey's data cannot be read")]
    Unreadable,
    /// A registration instead of a signature, or the other way round.
    #[error("the passkey signed another kind of ceremony")]
    Ceremony,
    /// The challenge is unknown, used, expired, or for another purpose or person.
    #[error("the challenge is unknown, used or expired; try again")]
    Challenge,
    /// Another origin.
    #[error("the passkey was used on another page")]
    Origin,
    /// Another relying party.
    #[error("the passkey is for another host")]
    RelyingParty,
    /// The user was not present or not verified.
    #[error("the passkey did not verify the user by fingerprint, face or PIN")]
    UserNotVerified,
    /// No such passkey, or another person's.
    #[error("this passkey is not one of yours")]
    Unknown,
    /// An unsupported algorithm.
    #[error("unsupported algorithm; use a passkey with ES256 or EdDSA")]
    Algorithm,
    /// The signature is invalid.
    #[error("the signature is invalid")]
    Signature,
    /// The waiting period of a new passkey is not over.
    #[error("this passkey is new and cannot sign before its waiting period ends")]
    Waiting,
    /// The signature counter did not increase.
    #[error("this passkey's counter went back, so a copy of it may exist; remove it")]
    Copied,
}

impl From<cbor::Malformed> for PasskeyError {
    fn from(_: cbor::Malformed) -> PasskeyError {
        PasskeyError::Unreadable
    }
}

impl PasskeyError {
    /// The machine-readable cause, for the ledger and for programs.
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

/// The checks that registrations and signatures share: the relying party and user verification.
fn check_relying_party(
    data: &authenticator_data::AuthenticatorData<'_>,
    relying_party: RelyingParty<'_>,
) -> Result<(), PasskeyError> {
    if data.relying_party != *Digest::of(relying_party.0.as_bytes()).as_bytes() {
        return Err(PasskeyError::RelyingParty);
    }
    if data.verified { Ok(()) } else { Err(PasskeyError::UserNotVerified) }
}
