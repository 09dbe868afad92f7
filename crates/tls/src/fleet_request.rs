//! An agent's key, and the request for a certificate: the private key never leaves its machine.

use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData, SignatureAlgorithm, SigningKey as _};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use rustls::pki_types::PrivatePkcs8KeyDer;

use crate::error::TlsError;

/// The length of a P-256 point, not compressed.
const POINT: usize = 65;

/// The public half of an agent's key: a P-256 point, not compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPublicKey([u8; POINT]);

impl AgentPublicKey {
    /// From the bytes of the point.
    pub fn from_bytes(bytes: &[u8]) -> Option<AgentPublicKey> {
        let point = <[u8; POINT]>::try_from(bytes).ok()?;
        (point.first() == Some(&4)).then_some(AgentPublicKey(point))
    }

    /// The bytes of the point.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether this key signed the text.
    pub fn has_signed(&self, text: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, self.0).verify(text, signature).is_ok()
    }
}

impl PublicKeyData for AgentPublicKey {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

/// The public half of a private key in PKCS #8, and its signature of what `text` makes of it.
pub fn sign_with_key(
    key: &[u8],
    text: impl FnOnce(&AgentPublicKey) -> String,
) -> Result<(AgentPublicKey, Vec<u8>), TlsError> {
    let key = PrivatePkcs8KeyDer::from(key);
    let key = KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ECDSA_P256_SHA256)?;
    let public = AgentPublicKey::from_bytes(key.public_key_raw())
        .ok_or_else(|| TlsError::Unusable("the key is not a P-256 key".to_owned()))?;
    let signature = key.sign(text(&public).as_bytes())?;
    Ok((public, signature))
}

/// The text that the holder of a new key signs when it asks for a certificate.
pub fn issue_text(agent: &str, public: &AgentPublicKey) -> String {
    format!("countersign-certificate-request-1\n{agent}\n{}\n", hex(public.as_bytes()))
}

/// The text that the holder of a certificate signs when it asks for its successor.
pub fn renewal_text(serial: &[u8], at: i64) -> String {
    format!("countersign-certificate-renewal-1\n{}\n{at}\n", hex(serial))
}

/// The text that the holder of a certificate signs when it reports its card and its rules.
pub fn node_report_text(serial: &[u8], at: i64, report: &str) -> String {
    format!("countersign-node-report-1\n{}\n{at}\n{report}", hex(serial))
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}
