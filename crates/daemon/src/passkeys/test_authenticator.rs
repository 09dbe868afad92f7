//! A software authenticator for tests: correct and wrong registrations and signatures.

use countersign_json::base64;
use countersign_json::canonical::Digest;
use ed25519_dalek::{Signer as _, SigningKey};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::Assertion;

/// Flags: user present and verified.
pub const USER_VERIFIED: u8 = 0b101;

enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(SigningKey),
}

/// A device with one passkey.
pub struct TestAuthenticator {
    pair: Pair,
    /// The credential id.
    pub credential: Vec<u8>,
    /// The next signature counter.
    pub count: u32,
    /// The flags that it sends.
    pub flags: u8,
    /// Its relying party id.
    pub relying_party: String,
    /// The origin of the page.
    pub origin: String,
}

impl TestAuthenticator {
    /// With ES256.
    pub fn es256(relying_party: &str, origin: &str) -> TestAuthenticator {
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, pkcs8.as_ref(), &random).unwrap();
        TestAuthenticator::new(Pair::Es256(pair), relying_party, origin)
    }

    /// With `EdDSA`.
    pub fn eddsa(relying_party: &str, origin: &str) -> TestAuthenticator {
        let seed = crate::random::bytes::<32>().unwrap();
        TestAuthenticator::new(Pair::EdDsa(SigningKey::from_bytes(&seed)), relying_party, origin)
    }

    fn new(pair: Pair, relying_party: &str, origin: &str) -> TestAuthenticator {
        let credential = crate::random::bytes::<32>().unwrap().to_vec();
        let (relying_party, origin) = (relying_party.to_owned(), origin.to_owned());
        TestAuthenticator {
            pair,
            credential,
            count: 1,
            flags: USER_VERIFIED,
            relying_party,
            origin,
        }
    }

    fn data(&self, flags: u8) -> Vec<u8> {
        let mut data = Digest::of(self.relying_party.as_bytes()).as_bytes().to_vec();
        data.push(flags);
        data.extend_from_slice(&self.count.to_be_bytes());
        data
    }

    fn cose(&self) -> Vec<u8> {
        match &self.pair {
            Pair::Es256(pair) => {
                let point = pair.public_key().as_ref();
                let head = [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
                [&head[..], &point[1..33], &[0x22, 0x58, 0x20], &point[33..]].concat()
            }
            Pair::EdDsa(key) => {
                let head = [0xA4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20];
                [&head[..], key.verifying_key().as_bytes()].concat()
            }
        }
    }

    /// The client data of a ceremony.
    pub fn client(&self, kind: &str, challenge: &[u8]) -> Vec<u8> {
        let challenge = base64::encode_url(challenge);
        json!({
            "type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": false,
        })
        .to_string()
        .into_bytes()
    }

    /// An attestation object without a statement.
    pub fn attestation(&self) -> Vec<u8> {
        let mut data = self.data(self.flags | 0x40);
        data.extend_from_slice(&[0; 16]);
        data.extend_from_slice(&u16::try_from(self.credential.len()).unwrap().to_be_bytes());
        data.extend_from_slice(&self.credential);
        data.extend_from_slice(&self.cose());
        let size = u8::try_from(data.len()).unwrap();
        let head = b"\xA3\x63fmt\x64none\x67attStmt\xA0\x68authData\x58";
        [&head[..], &[size], &data].concat()
    }

    /// The body that registers it.
    pub fn registration_body(&self, challenge: &[u8], name: &str) -> Value {
        let client = self.client("webauthn.create", challenge);
        json!({
            "name": name, "client_data": base64::encode_url(&client),
            "attestation": base64::encode_url(&self.attestation()),
        })
    }

    /// Signs a challenge.
    pub fn sign(&mut self, challenge: &[u8]) -> Assertion {
        self.count += u32::from(self.count != 0);
        let client_data = self.client("webauthn.get", challenge);
        let authenticator_data = self.data(self.flags);
        self.sign_over(client_data, authenticator_data)
    }

    /// Signs the given data.
    pub fn sign_over(&self, client_data: Vec<u8>, authenticator_data: Vec<u8>) -> Assertion {
        let mut message = authenticator_data.clone();
        message.extend_from_slice(Digest::of(&client_data).as_bytes());
        let signature = match &self.pair {
            Pair::Es256(pair) => {
                pair.sign(&SystemRandom::new(), &message).unwrap().as_ref().to_vec()
            }
            Pair::EdDsa(key) => key.sign(&message).to_bytes().to_vec(),
        };
        let credential = self.credential.clone();
        Assertion { credential, client_data, authenticator_data, signature }
    }
}

/// The member `passkey` of a decision.
pub fn sent(assertion: &Assertion) -> Value {
    json!({
        "id": base64::encode_url(&assertion.credential),
        "client_data": base64::encode_url(&assertion.client_data),
        "authenticator_data": base64::encode_url(&assertion.authenticator_data),
        "signature": base64::encode_url(&assertion.signature),
    })
}
