//! A new passkey, as a browser brings it. Nothing is believed about the device that made it: the
//! person who brings it has just said their passphrase, and that is what counts.

use super::cbor::{self, Item};
use super::key::Key;
use super::{NotSigned, Place, authenticator, place_is};

/// A passkey that may be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What the device calls it.
    pub credential: Vec<u8>,
    /// Its key.
    pub key: Key,
    /// How many signatures it has counted.
    pub count: u32,
}

/// Reads an attestation object (`WebAuthn` Level 2, 6.5.4). The statement in it is passed over.
pub fn read(object: &[u8], place: Place<'_>) -> Result<Made, NotSigned> {
    let object = cbor::read_whole(object)?;
    let (format, statement) = (object.at("fmt"), object.at("attStmt"));
    let known = matches!((format, statement), (Some(Item::Text(_)), Some(Item::Map(_))));
    let data = object.at("authData").and_then(Item::bytes).filter(|_| known && object.len() == 3);
    let told = authenticator::read(data.ok_or(NotSigned::Unreadable)?)?;
    place_is(&told, place)?;
    let (credential, key) = told.made.ok_or(NotSigned::Unreadable)?;
    Ok(Made { credential: credential.to_owned(), key, count: told.count })
}
