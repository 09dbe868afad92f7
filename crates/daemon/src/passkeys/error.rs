//! Why a passkey or its signature is rejected.

use super::cbor::Malformed;

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

impl From<Malformed> for PasskeyError {
    fn from(_: Malformed) -> PasskeyError {
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
