//! The test vectors of `WebAuthn` Level 3, section "Test Vectors". The values are in
//! `w3c_vectors.json`.

use serde::Deserialize;

use super::cbor::CborItem;
use super::*;

#[derive(Deserialize)]
struct VectorFile {
    relying_party: String,
    origin: String,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    registration: RegistrationVector,
    authentication: AuthenticationVector,
}

#[derive(Deserialize)]
struct RegistrationVector {
    challenge: String,
    client_data: String,
    attestation_object: String,
    credential_id: String,
}

#[derive(Deserialize)]
struct AuthenticationVector {
    challenge: String,
    client_data: String,
    authenticator_data: String,
    signature: String,
}

/// Vectors whose algorithm is not accepted.
const OTHER_ALGORITHMS: [&str; 4] =
    ["packed-es384", "packed-es512", "packed-rs256", "packed-ed448"];
/// Vectors of a page inside another origin.
const OTHER_ORIGINS: [&str; 2] = ["none-es256-crossOrigin", "none-es256-topOrigin"];

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |pair: &[u8]| std::str::from_utf8(pair).unwrap().to_owned();
    let pairs = hex.as_bytes().chunks(2).map(digits);
    pairs.map(|pair| u8::from_str_radix(&pair, 16).unwrap()).collect()
}

fn vectors() -> VectorFile {
    serde_json::from_str(include_str!("w3c_vectors.json")).unwrap()
}

/// The authenticator data inside an attestation object.
fn authenticator_data_of(attestation: &[u8]) -> Vec<u8> {
    let object = cbor::read_whole(attestation).unwrap();
    object.at("authData").and_then(CborItem::bytes).unwrap().to_vec()
}

/// Whether the flags say that the user was verified.
fn is_verified(authenticator_data: &[u8]) -> bool {
    authenticator_data[32] & 0b101 == 0b101
}

#[test]
fn the_client_data_of_every_vector_is_read() {
    let all = vectors();
    for vector in &all.vectors {
        let (made, used) = (&vector.registration, &vector.authentication);
        for (kind, text, challenge) in [
            ("webauthn.create", &made.client_data, &made.challenge),
            ("webauthn.get", &used.client_data, &used.challenge),
        ] {
            let read = client_data::read(&bytes(text), kind);
            if OTHER_ORIGINS.contains(&vector.name.as_str()) {
                assert_eq!(read, Err(PasskeyError::Origin), "{}", vector.name);
                continue;
            }
            let read = read.unwrap();
            assert_eq!(read.challenge, bytes(challenge), "{}", vector.name);
            assert_eq!(read.origin, all.origin, "{}", vector.name);
            let other = if kind == "webauthn.get" { "webauthn.create" } else { "webauthn.get" };
            assert_eq!(client_data::read(&bytes(text), other), Err(PasskeyError::Ceremony));
        }
    }
}

#[test]
fn registrations_and_signatures_of_every_vector_are_checked() {
    let all = vectors();
    let relying_party = RelyingParty(&all.relying_party);
    let (mut registered, mut signed) = (0, 0);
    for vector in &all.vectors {
        let name = vector.name.as_str();
        let attestation = bytes(&vector.registration.attestation_object);
        let result = registration::read(&attestation, relying_party);
        if OTHER_ALGORITHMS.contains(&name) {
            assert_eq!(result, Err(PasskeyError::Algorithm), "{name}");
            continue;
        }
        let data = authenticator_data_of(&attestation);
        if is_verified(&data) {
            let made = result.unwrap();
            assert_eq!(made.credential, bytes(&vector.registration.credential_id), "{name}");
            registered += 1;
        } else {
            assert_eq!(result, Err(PasskeyError::UserNotVerified), "{name}");
        }
        // The key is read even if the registration is rejected, so that every signature is checked.
        let data = authenticator_data::read(&data).unwrap();
        let (credential, key) = data.registered.unwrap();
        let used = &vector.authentication;
        let assertion = Assertion {
            credential: credential.to_vec(),
            client_data: bytes(&used.client_data),
            authenticator_data: bytes(&used.authenticator_data),
            signature: bytes(&used.signature),
        };
        assert!(assertion::is_signed(&assertion, &key), "{name}");
        let result = assertion::check(&assertion, &key, data.count, relying_party);
        if is_verified(&assertion.authenticator_data) {
            assert!(result.is_ok(), "{name}: {result:?}");
            signed += 1;
        } else {
            assert_eq!(result, Err(PasskeyError::UserNotVerified), "{name}");
        }
        let other = assertion::check(&assertion, &key, data.count, RelyingParty("example.com"));
        assert_eq!(other, Err(PasskeyError::RelyingParty), "{name}");
        for part in 0..3 {
            let mut changed = assertion.clone();
            let bytes = match part {
                0 => &mut changed.client_data,
                1 => &mut changed.authenticator_data,
                _ => &mut changed.signature,
            };
            *bytes.last_mut().unwrap() ^= 1;
            assert!(!assertion::is_signed(&changed, &key), "{name}, part {part}");
        }
    }
    assert_eq!((all.vectors.len(), registered, signed), (15, 5, 5));
}
