//! Identification to push services: an ES256 signature over audience and expiry (RFC 8292).

use std::fmt;

use countersign_json::base64::encode_url;
use countersign_types::time::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;
use zeroize::Zeroizing;

/// How long a signature is valid, in seconds; a day is the maximum.
const GOOD_FOR: i64 = 12 * 3_600;

/// Our key for push services. Browsers accept no messages signed with another key.
pub struct VapidKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl fmt::Debug for VapidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VapidKey")
    }
}

impl VapidKey {
    /// A new key in PKCS #8.
    pub fn generate() -> Option<Zeroizing<Vec<u8>>> {
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let made = EcdsaKeyPair::generate_pkcs8(kind, &SystemRandom::new()).ok()?;
        Some(Zeroizing::new(made.as_ref().to_vec()))
    }

    /// Reads a key in PKCS #8.
    pub fn read(pkcs8: &[u8]) -> Option<VapidKey> {
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(kind, pkcs8, &random).ok()?;
        Some(VapidKey { pair, random })
    }

    /// The public key, uncompressed.
    pub fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// The header `Authorization` for a push service.
    pub fn authorization(
        &self,
        origin: &str,
        now: Timestamp,
        contact: Option<&str>,
    ) -> Option<String> {
        let mut claims = json!({ "aud": origin, "exp": now.seconds() + GOOD_FOR });
        if let (Some(contact), Some(claims)) = (contact, claims.as_object_mut()) {
            claims.insert("sub".to_owned(), json!(contact));
        }
        let head = encode_url(br#"{"typ":"JWT","alg":"ES256"}"#);
        let said = format!("{head}.{}", encode_url(claims.to_string().as_bytes()));
        let signature = self.pair.sign(&self.random, said.as_bytes()).ok()?;
        let (signature, key) = (encode_url(signature.as_ref()), encode_url(self.public()));
        Some(format!("vapid t={said}.{signature}, k={key}"))
    }
}

#[cfg(test)]
mod tests {
    use countersign_json::base64::decode_url;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn a_push_service_can_check_who_sends_and_where_to() {
        let key = VapidKey::read(&VapidKey::generate().unwrap()).unwrap();
        let now = Timestamp(1_794_700_000_000);
        let contact = Some("mailto:ops@example.org");
        let text = key.authorization("https://push.example.net", now, contact).unwrap();
        let (token, public) = text.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        let (said, signature) = token.rsplit_once('.').unwrap();
        let check = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decode_url(public).unwrap());
        assert!(check.verify(said.as_bytes(), &decode_url(signature).unwrap()).is_ok());
        let claims = decode_url(said.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(claims["aud"], "https://push.example.net");
        assert_eq!(claims["sub"], "mailto:ops@example.org");
        let left = claims["exp"].as_i64().unwrap() - now.0 / 1000;
        assert!((1..=86_400).contains(&left));
    }
}
