//! Passkeys (`WebAuthn` Level 2): a person's device signs one decision about one call.
//!
//! The challenge is a hash of the request, the call, the choice and a nonce, so that a signature
//! proves exactly what was approved and can be verified from the ledger years later.

pub mod assertion;
mod authenticator_data;
mod cbor;
mod challenges;
pub mod client_data;
mod error;
mod key;
mod ledger_check;
pub mod registration;

#[cfg(test)]
pub(crate) mod test_authenticator;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod w3c_tests;

pub use assertion::Assertion;
pub use authenticator_data::{MAX_CREDENTIAL_ID, RelyingParty};
#[cfg(test)]
pub use challenges::decision_challenge;
pub use challenges::{Challenges, Purpose, SignedDecision};
pub use error::PasskeyError;
pub use key::{ALGORITHMS, PasskeyKey, algorithm_name};
pub use ledger_check::LedgerSignatureCheck;
