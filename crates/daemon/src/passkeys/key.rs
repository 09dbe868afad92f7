//! The public key of a passkey: ES256 or `EdDSA` only.

use ed25519_dalek::VerifyingKey;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

use super::cbor::CborItem;
use super::error::PasskeyError;

/// COSE numbers of the accepted algorithms, the preferred one first.
pub const ALGORITHMS: [i64; 2] = [ES256, EDDSA];
const ES256: i64 = -7;
const EDDSA: i64 = -8;

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasskeyKey {
    /// An uncompressed point of P-256.
    Es256([u8; 65]),
    /// A point of Curve25519.
    EdDsa([u8; 32]),
}

impl PasskeyKey {
    /// Reads a COSE key (RFC 9053) with exactly the members of its type.
    pub fn from_cose(item: &CborItem<'_>) -> Result<PasskeyKey, PasskeyError> {
        let number = |at| item.numbered(at).and_then(CborItem::whole);
        let point = |at| {
            let bytes = item.numbered(at).and_then(CborItem::bytes);
            bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
        };
        let kind = (number(1), number(3), number(-1), item.len());
        match (kind, point(-2), point(-3)) {
            ((Some(2), Some(ES256), Some(1), 5), Some(x), Some(y)) => {
                let mut bytes = [4; 65];
                let coordinates = x.iter().chain(&y);
                bytes.iter_mut().skip(1).zip(coordinates).for_each(|(to, from)| *to = *from);
                Ok(PasskeyKey::Es256(bytes))
            }
            ((Some(1), Some(EDDSA), Some(6), 4), Some(x), None) => {
                PasskeyKey::from_stored(EDDSA, &x)
            }
            _ => Err(PasskeyError::Algorithm),
        }
    }

    /// A key as the store has it.
    pub fn from_stored(algorithm: i64, bytes: &[u8]) -> Result<PasskeyKey, PasskeyError> {
        match algorithm {
            ES256 => bytes.try_into().map(PasskeyKey::Es256).map_err(|_| PasskeyError::Algorithm),
            EDDSA => {
                let bytes = bytes.try_into().map_err(|_| PasskeyError::Algorithm)?;
                let point =
                    VerifyingKey::from_bytes(&bytes).map_err(|_| PasskeyError::Algorithm)?;
                // With a weak key any signature would verify.
                if point.is_weak() {
                    Err(PasskeyError::Algorithm)
                } else {
                    Ok(PasskeyKey::EdDsa(bytes))
                }
            }
            _ => Err(PasskeyError::Algorithm),
        }
    }

    /// The COSE number of the algorithm.
    pub const fn algorithm(&self) -> i64 {
        match self {
            PasskeyKey::Es256(_) => ES256,
            PasskeyKey::EdDsa(_) => EDDSA,
        }
    }

    /// The stored form.
    pub fn bytes(&self) -> &[u8] {
        match self {
            PasskeyKey::Es256(bytes) => bytes,
            PasskeyKey::EdDsa(bytes) => bytes,
        }
    }

    /// Whether this key made the signature.
    pub fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            PasskeyKey::Es256(bytes) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, bytes)
                .verify(message, signature)
                .is_ok(),
            PasskeyKey::EdDsa(bytes) => {
                let key = VerifyingKey::from_bytes(bytes).ok();
                let signature = ed25519_dalek::Signature::from_slice(signature).ok();
                key.zip(signature)
                    .is_some_and(|(key, signature)| key.verify_strict(message, &signature).is_ok())
            }
        }
    }
}

/// The algorithm's name for people.
pub const fn algorithm_name(algorithm: i64) -> &'static str {
    match algorithm {
        ES256 => "ES256",
        EDDSA => "EdDSA",
        _ => "unknown",
    }
}
