//! A signature by a passkey, held against everything that it must say.

use countersign_json::canonical::Digest;

use super::key::Key;
use super::{NotSigned, Place, authenticator, place_is};

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
pub fn check(said: &Assertion, key: &Key, count: u32, place: Place<'_>) -> Result<u32, NotSigned> {
    let told = authenticator::read(&said.authenticator_data)?;
    if told.made.is_some() {
        return Err(NotSigned::Unreadable);
    }
    place_is(&told, place)?;
    if !is_signed(said, key) {
        return Err(NotSigned::Signature);
    }
    // One that counts goes on counting; one that does not stays at nought.
    let counts = count != 0 || told.count != 0;
    if counts && told.count <= count { Err(NotSigned::Copied) } else { Ok(told.count) }
}

/// Whether the signature is by this key, over all that was said.
pub fn is_signed(said: &Assertion, key: &Key) -> bool {
    let mut message = said.authenticator_data.clone();
    message.extend_from_slice(Digest::of(&said.client_data).as_bytes());
    key.signed(&message, &said.signature)
}
