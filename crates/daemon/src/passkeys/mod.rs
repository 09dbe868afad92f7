//! Passkeys (`WebAuthn` Level 2): a person's device signs one decision about one call.
//!
//! The challenge is a hash over the request, the call, the answer and a nonce of ours, so that a
//! signature says exactly what was approved, and can be verified from the ledger years later.

pub mod assertion;
pub mod attested;
mod authenticator;
mod cbor;
mod challenges;
pub mod client;
mod key;
mod offline;

#[cfg(test)]
pub(crate) mod soft;
#[cfg(test)]
mod tests;

use countersign_json::canonical::Digest;

pub use assertion::Assertion;
pub use authenticator::LONGEST_CREDENTIAL;
#[cfg(test)]
pub use challenges::challenge_of;
pub use challenges::{Challenges, Decided, Purpose};
pub use key::{ALGORITHMS, Key, algorithm_name};
pub use offline::Offline;

/// The place for which a passkey is good: the host's name, without scheme and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a>(pub &'a str);

/// Why a passkey or its signature does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSigned {
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
    Place,
    /// Nobody touched it, or it does not know who did.
    #[error("the passkey did not check who uses it (a finger, a face or a PIN)")]
    NobodyThere,
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

impl From<cbor::Malformed> for NotSigned {
    fn from(_: cbor::Malformed) -> NotSigned {
        NotSigned::Unreadable
    }
}

impl NotSigned {
    /// One word for the ledger and for programs.
    pub const fn word(self) -> &'static str {
        match self {
            NotSigned::Unreadable => "unreadable",
            NotSigned::Ceremony => "ceremony",
            NotSigned::Challenge => "challenge",
            NotSigned::Origin => "origin",
            NotSigned::Place => "place",
            NotSigned::NobodyThere => "nobody-there",
            NotSigned::Unknown => "unknown",
            NotSigned::Algorithm => "algorithm",
            NotSigned::Signature => "signature",
            NotSigned::Waiting => "waiting",
            NotSigned::Copied => "copied",
        }
    }
}

/// What registrations and signatures have in common: the right place, and somebody there.
fn place_is(told: &authenticator::Told<'_>, place: Place<'_>) -> Result<(), NotSigned> {
    if told.place != *Digest::of(place.0.as_bytes()).as_bytes() {
        return Err(NotSigned::Place);
    }
    if told.verified { Ok(()) } else { Err(NotSigned::NobodyThere) }
}
