//! A signature by a passkey, held against everything that it must say.

use countersign_json::canonical::Digest;

use super::key::PasskeyKey;
use super::{PasskeyError, RelyingParty, authenticator_data, check_relying_party};

/// What a browser brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// Which passkey.
    pub credential: Vec<u8>,
    /// What the browser says, as it was signed.
    pub client_data: Vec<u8>,
    /// What the authenticator says, as it was signed.
    pub authenticator_data: Vec<u8>,
    /// The signature over both.
    pub signature: Vec<u8>,
}

/// Checks a signature and gives the authenticator's new count. The client data must have been
/// read and believed before.
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
    check_relying_party(&data, relying_party)?;
    if !is_signed(assertion, key) {
        return Err(PasskeyError::Signature);
    }
    // One that counts goes on counting; one that does not stays at nought.
    let counts = count != 0 || data.count != 0;
    if counts && data.count <= count { Err(PasskeyError::Copied) } else { Ok(data.count) }
}

/// Whether the signature is by this key, over all that was said.
pub fn is_signed(assertion: &Assertion, key: &PasskeyKey) -> bool {
    let mut message = assertion.authenticator_data.clone();
    message.extend_from_slice(Digest::of(&assertion.client_data).as_bytes());
    key.signed(&message, &assertion.signature)
}
