//! The signature of a passkey, with everything that it must contain.

use countersign_json::canonical::Digest;

use super::authenticator_data::{self, RelyingParty};
use super::error::PasskeyError;
use super::key::PasskeyKey;

/// A signature as a browser sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// The credential id.
    pub credential: Vec<u8>,
    /// The client data, as signed.
    pub client_data: Vec<u8>,
    /// The authenticator data, as signed.
    pub authenticator_data: Vec<u8>,
    /// The signature over both.
    pub signature: Vec<u8>,
}

/// Checks a signature and returns the authenticator's new counter. The client data must have been
/// checked before.
pub fn check(
    assertion: &Assertion,
    key: &PasskeyKey,
    count: u32,
    relying_party: RelyingParty<'_>,
) -> Result<u32, PasskeyError> {
    let data = authenticator_data::read(&assertion.authenticator_data)?;
    if data.registered.is_some() {
        return Err(PasskeyError::Unreadable);
    }
    data.check(relying_party)?;
    if !is_signed(assertion, key) {
        return Err(PasskeyError::Signature);
    }
    // A counter must increase; an authenticator without a counter always sends 0.
    let counts = count != 0 || data.count != 0;
    if counts && data.count <= count { Err(PasskeyError::Copied) } else { Ok(data.count) }
}

/// Whether this key signed the client data and the authenticator data.
pub fn is_signed(assertion: &Assertion, key: &PasskeyKey) -> bool {
    let mut message = assertion.authenticator_data.clone();
    message.extend_from_slice(Digest::of(&assertion.client_data).as_bytes());
    key.signed(&message, &assertion.signature)
}
