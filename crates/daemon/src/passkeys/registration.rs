//! The registration of a new passkey. Nothing is assumed about the device: the person has just
//! proved their identity, and that is what counts.

use super::authenticator_data::{self, RelyingParty};
use super::cbor::{self, CborItem};
use super::error::PasskeyError;
use super::key::PasskeyKey;

/// A new passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The credential id.
    pub credential: Vec<u8>,
    /// Its key.
    pub key: PasskeyKey,
    /// The signature counter.
    pub count: u32,
}

/// Reads an attestation object (`WebAuthn` Level 2, 6.5.4). The attestation statement is ignored.
pub fn read(object: &[u8], relying_party: RelyingParty<'_>) -> Result<Registration, PasskeyError> {
    let object = cbor::read_whole(object)?;
    let (format, statement) = (object.at("fmt"), object.at("attStmt"));
    let known = matches!((format, statement), (Some(CborItem::Text(_)), Some(CborItem::Map(_))));
    let data =
        object.at("authData").and_then(CborItem::bytes).filter(|_| known && object.len() == 3);
    let data = authenticator_data::read(data.ok_or(PasskeyError::Unreadable)?)?;
    data.check(relying_party)?;
    let (credential, key) = data.registered.ok_or(PasskeyError::Unreadable)?;
    Ok(Registration { credential: credential.to_owned(), key, count: data.count })
}
