//! Registrations and signatures, correct and wrong.

use super::test_authenticator::{TestAuthenticator, USER_VERIFIED};
use super::*;

const HOST: &str = "localhost";
const ORIGIN: &str = "http://localhost:6001";
const CHALLENGE: [u8; 32] = [7; 32];

fn both() -> [TestAuthenticator; 2] {
    [TestAuthenticator::es256(HOST, ORIGIN), TestAuthenticator::eddsa(HOST, ORIGIN)]
}

/// All checks of a signature, except whether the challenge is open.
fn accepted(assertion: &Assertion, key: &PasskeyKey, count: u32) -> Result<u32, PasskeyError> {
    let data = client_data::read(&assertion.client_data, "webauthn.get")?;
    if data.challenge != CHALLENGE {
        return Err(PasskeyError::Challenge);
    }
    if data.origin != ORIGIN {
        return Err(PasskeyError::Origin);
    }
    assertion::check(assertion, key, count, RelyingParty(HOST))
}

#[test]
fn a_passkey_is_registered_and_signs() {
    for mut authenticator in both() {
        let made = registration::read(&authenticator.attestation(), RelyingParty(HOST)).unwrap();
        assert_eq!((&made.credential, made.count), (&authenticator.credential, 1));
        let from_stored = PasskeyKey::from_stored(made.key.algorithm(), made.key.bytes()).unwrap();
        assert_eq!(from_stored, made.key);
        assert_eq!(accepted(&authenticator.sign(&CHALLENGE), &from_stored, 1), Ok(2));
        assert_eq!(accepted(&authenticator.sign(&CHALLENGE), &from_stored, 2), Ok(3));
    }
}

#[test]
fn wrong_signatures_are_rejected_with_their_cause() {
    for mut authenticator in both() {
        let key = registration::read(&authenticator.attestation(), RelyingParty(HOST)).unwrap().key;
        let good = authenticator.sign(&CHALLENGE);
        let count = authenticator.count;
        assert_eq!(accepted(&good, &key, count), Err(PasskeyError::Copied), "the same count");
        assert_eq!(
            accepted(&good, &key, count + 5),
            Err(PasskeyError::Copied),
            "a count gone back"
        );
        authenticator.origin = "http://localhost:9999".to_owned();
        assert_eq!(accepted(&authenticator.sign(&CHALLENGE), &key, 0), Err(PasskeyError::Origin));
        authenticator.origin = ORIGIN.to_owned();
        assert_eq!(accepted(&authenticator.sign(&[8; 32]), &key, 0), Err(PasskeyError::Challenge));
        authenticator.relying_party = "127.0.0.1".to_owned();
        assert_eq!(
            accepted(&authenticator.sign(&CHALLENGE), &key, 0),
            Err(PasskeyError::RelyingParty)
        );
        assert_eq!(
            registration::read(&authenticator.attestation(), RelyingParty(HOST)),
            Err(PasskeyError::RelyingParty)
        );
        authenticator.relying_party = HOST.to_owned();
        for flags in [0, 0b001, 0b100] {
            authenticator.flags = flags;
            assert_eq!(
                accepted(&authenticator.sign(&CHALLENGE), &key, 0),
                Err(PasskeyError::UserNotVerified)
            );
            let made = registration::read(&authenticator.attestation(), RelyingParty(HOST));
            assert_eq!(made, Err(PasskeyError::UserNotVerified));
        }
        authenticator.flags = USER_VERIFIED;
        for (kind, further, problem) in [
            ("webauthn.create", "", PasskeyError::Ceremony),
            ("webauthn.get", ",\"crossOrigin\":true", PasskeyError::Origin),
            ("webauthn.get", ",\"topOrigin\":\"http://localhost:6001\"", PasskeyError::Origin),
            ("webauthn.get", ",\"type\":\"webauthn.get\"", PasskeyError::Unreadable),
        ] {
            let text = String::from_utf8(authenticator.client(kind, &CHALLENGE)).unwrap();
            let text =
                text.replace(",\"crossOrigin\":false", "").replace("\"crossOrigin\":false,", "");
            let text = format!("{}{further}}}", text.strip_suffix('}').unwrap());
            let data = authenticator.sign(&CHALLENGE).authenticator_data;
            let assertion = authenticator.sign_over(text.into_bytes(), data);
            assert_eq!(accepted(&assertion, &key, 0), Err(problem), "{kind} {further}");
        }
        let [another, _] = both();
        let stranger = registration::read(&another.attestation(), RelyingParty(HOST)).unwrap().key;
        assert_eq!(
            accepted(&authenticator.sign(&CHALLENGE), &stranger, 0),
            Err(PasskeyError::Signature)
        );
    }
}

#[test]
fn a_passkey_without_a_counter_stays_at_zero() {
    let [mut authenticator, _] = both();
    authenticator.count = 0;
    let key = registration::read(&authenticator.attestation(), RelyingParty(HOST)).unwrap().key;
    assert_eq!(accepted(&authenticator.sign(&CHALLENGE), &key, 0), Ok(0));
    assert_eq!(accepted(&authenticator.sign(&CHALLENGE), &key, 0), Ok(0));
    assert_eq!(accepted(&authenticator.sign(&CHALLENGE), &key, 1), Err(PasskeyError::Copied));
}

/// A seeded generator: the same mutations in every run.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        usize::try_from(self.0 >> 33).unwrap() % below
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut SeededRandom) {
    let at = random.below(bytes.len());
    match random.below(5) {
        0 | 1 => bytes[at] ^= 1 << random.below(8),
        2 => drop(bytes.remove(at)),
        3 => bytes.insert(at, u8::try_from(random.below(256)).unwrap()),
        _ => bytes.truncate(at),
    }
}

#[test]
fn no_mutated_signature_is_accepted() {
    let (mut random, mut tried) = (SeededRandom(20_260), 0);
    for mut authenticator in both() {
        let key = registration::read(&authenticator.attestation(), RelyingParty(HOST)).unwrap().key;
        let good = authenticator.sign(&CHALLENGE);
        assert!(accepted(&good, &key, 0).is_ok());
        while tried % 10_000 != 9_999 {
            let mut bad = good.clone();
            for _ in 0..=random.below(3) {
                let part = match random.below(3) {
                    0 => &mut bad.client_data,
                    1 => &mut bad.authenticator_data,
                    _ => &mut bad.signature,
                };
                if !part.is_empty() {
                    mutate(part, &mut random);
                }
            }
            if bad != good {
                tried += 1;
                assert!(accepted(&bad, &key, 0).is_err(), "{bad:?}");
            }
        }
        tried += 1;
    }
    assert!(tried >= 20_000);
}

#[test]
fn mutated_registrations_never_panic_or_change_the_relying_party() {
    let mut random = SeededRandom(4_711);
    for authenticator in both() {
        let good = authenticator.attestation();
        for _ in 0..5_000 {
            let mut bad = good.clone();
            mutate(&mut bad, &mut random);
            // What can still be read has a valid key and a credential id of an allowed length.
            if let Ok(made) = registration::read(&bad, RelyingParty(HOST)) {
                assert_eq!(
                    PasskeyKey::from_stored(made.key.algorithm(), made.key.bytes()),
                    Ok(made.key)
                );
                assert!((1..=MAX_CREDENTIAL_ID).contains(&made.credential.len()));
            }
            assert_eq!(registration::read(&bad, RelyingParty("elsewhere")).ok(), None);
        }
    }
}

#[test]
fn unsupported_and_weak_keys_are_rejected() {
    assert!(PasskeyKey::from_stored(-257, &[0; 256]).is_err());
    assert!(PasskeyKey::from_stored(-7, &[4; 64]).is_err());
    assert!(PasskeyKey::from_stored(-8, &[0; 32]).is_err(), "a weak point");
    let mut one = [0; 32];
    one[0] = 1;
    assert!(PasskeyKey::from_stored(-8, &one).is_err(), "the neutral point");
}
