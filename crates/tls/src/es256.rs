//! Signatures with an agent's key as JSON Web Signatures have them (ES256, RFC 7518): two numbers
//! of fixed length.

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, UnparsedPublicKey,
};

use crate::certificate::CertificateFacts;
use crate::error::TlsError;
use crate::fleet_request::AgentPublicKey;

/// Signs a text with a private key in PKCS #8.
pub fn sign_es256(key: &[u8], text: &[u8]) -> Result<Vec<u8>, TlsError> {
    let failed = |why: &str| TlsError::Unusable(why.to_owned());
    let random = SystemRandom::new();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key, &random)
        .map_err(|_| failed("the key is not a P-256 key"))?;
    let signature = pair.sign(&random, text).map_err(|_| failed("the text was not signed"))?;
    Ok(signature.as_ref().to_vec())
}

/// Whether the key of this certificate, in DER, signed the text.
pub fn verify_es256(certificate: &[u8], text: &[u8], signature: &[u8]) -> bool {
    let facts = CertificateFacts::parse(certificate);
    let point = facts.and_then(|facts| facts.public_key.last_chunk::<65>().copied());
    let key = point.and_then(|point| AgentPublicKey::from_bytes(&point));
    key.is_some_and(|key| {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.as_bytes());
        key.verify(text, signature).is_ok()
    })
}
