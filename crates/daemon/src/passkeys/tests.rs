//! Registrations and signatures, right and wrong in every way we could think of.

use super::soft::{Soft, THERE};
use super::*;

const HOST: &str = "localhost";
const ORIGIN: &str = "http://localhost:6001";
const CHALLENGE: [u8; 32] = [7; 32];

fn both() -> [Soft; 2] {
    [Soft::es256(HOST, ORIGIN), Soft::eddsa(HOST, ORIGIN)]
}

/// Everything that is asked of a signature, but whether the challenge is open.
fn accepted(said: &Assertion, key: &Key, count: u32) -> Result<u32, NotSigned> {
    let told = client::read(&said.client_data, "webauthn.get")?;
    if told.challenge != CHALLENGE {
        return Err(NotSigned::Challenge);
    }
    if told.origin != ORIGIN {
        return Err(NotSigned::Origin);
    }
    assertion::check(said, key, count, Place(HOST))
}

#[test]
fn a_passkey_is_enrolled_and_signs() {
    for mut soft in both() {
        let made = attested::read(&soft.attestation(), Place(HOST)).unwrap();
        assert_eq!((&made.credential, made.count), (&soft.credential, 1));
        let kept = Key::kept(made.key.algorithm(), made.key.bytes()).unwrap();
        assert_eq!(kept, made.key);
        assert_eq!(accepted(&soft.signs(&CHALLENGE), &kept, 1), Ok(2));
        assert_eq!(accepted(&soft.signs(&CHALLENGE), &kept, 2), Ok(3));
    }
}

#[test]
fn what_is_wrong_is_refused_and_said() {
    for mut soft in both() {
        let key = attested::read(&soft.attestation(), Place(HOST)).unwrap().key;
        let good = soft.signs(&CHALLENGE);
        let count = soft.count;
        assert_eq!(accepted(&good, &key, count), Err(NotSigned::Copied), "the same count");
        assert_eq!(accepted(&good, &key, count + 5), Err(NotSigned::Copied), "a count gone back");
        soft.origin = "http://localhost:9999".to_owned();
        assert_eq!(accepted(&soft.signs(&CHALLENGE), &key, 0), Err(NotSigned::Origin));
        soft.origin = ORIGIN.to_owned();
        assert_eq!(accepted(&soft.signs(&[8; 32]), &key, 0), Err(NotSigned::Challenge));
        soft.place = "127.0.0.1".to_owned();
        assert_eq!(accepted(&soft.signs(&CHALLENGE), &key, 0), Err(NotSigned::Place));
        assert_eq!(attested::read(&soft.attestation(), Place(HOST)), Err(NotSigned::Place));
        soft.place = HOST.to_owned();
        for flags in [0, 0b001, 0b100] {
            soft.flags = flags;
            assert_eq!(accepted(&soft.signs(&CHALLENGE), &key, 0), Err(NotSigned::NobodyThere));
            let made = attested::read(&soft.attestation(), Place(HOST));
            assert_eq!(made, Err(NotSigned::NobodyThere));
        }
        soft.flags = THERE;
        for (kind, further, problem) in [
            ("webauthn.create", "", NotSigned::Ceremony),
            ("webauthn.get", ",\"crossOrigin\":true", NotSigned::Origin),
            ("webauthn.get", ",\"topOrigin\":\"http://localhost:6001\"", NotSigned::Origin),
            ("webauthn.get", ",\"type\":\"webauthn.get\"", NotSigned::Unreadable),
        ] {
            let text = String::from_utf8(soft.client(kind, &CHALLENGE)).unwrap();
            let text =
                text.replace(",\"crossOrigin\":false", "").replace("\"crossOrigin\":false,", "");
            let text = format!("{}{further}}}", text.strip_suffix('}').unwrap());
            let data = soft.signs(&CHALLENGE).authenticator_data;
            let said = soft.signs_over(text.into_bytes(), data);
            assert_eq!(accepted(&said, &key, 0), Err(problem), "{kind} {further}");
        }
        let [another, _] = both();
        let stranger = attested::read(&another.attestation(), Place(HOST)).unwrap().key;
        assert_eq!(accepted(&soft.signs(&CHALLENGE), &stranger, 0), Err(NotSigned::Signature));
    }
}

#[test]
fn a_passkey_that_does_not_count_stays_at_nought() {
    let [mut soft, _] = both();
    soft.count = 0;
    let key = attested::read(&soft.attestation(), Place(HOST)).unwrap().key;
    assert_eq!(accepted(&soft.signs(&CHALLENGE), &key, 0), Ok(0));
    assert_eq!(accepted(&soft.signs(&CHALLENGE), &key, 0), Ok(0));
    assert_eq!(accepted(&soft.signs(&CHALLENGE), &key, 1), Err(NotSigned::Copied));
}

/// A generator of our own: the same mutations in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        usize::try_from(self.0 >> 33).unwrap() % below
    }
}

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let at = dice.roll(bytes.len());
    match dice.roll(5) {
        0 | 1 => bytes[at] ^= 1 << dice.roll(8),
        2 => drop(bytes.remove(at)),
        3 => bytes.insert(at, u8::try_from(dice.roll(256)).unwrap()),
        _ => bytes.truncate(at),
    }
}

#[test]
fn of_twenty_thousand_mutated_signatures_none_is_accepted() {
    let (mut dice, mut tried) = (Dice(20_260), 0);
    for mut soft in both() {
        let key = attested::read(&soft.attestation(), Place(HOST)).unwrap().key;
        let good = soft.signs(&CHALLENGE);
        assert!(accepted(&good, &key, 0).is_ok());
        while tried % 10_000 != 9_999 {
            let mut bad = good.clone();
            for _ in 0..=dice.roll(3) {
                let part = match dice.roll(3) {
                    0 => &mut bad.client_data,
                    1 => &mut bad.authenticator_data,
                    _ => &mut bad.signature,
                };
                if !part.is_empty() {
                    mutate(part, &mut dice);
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
fn of_ten_thousand_mutated_registrations_none_panics_or_changes_the_place() {
    let mut dice = Dice(4_711);
    for soft in both() {
        let good = soft.attestation();
        for _ in 0..5_000 {
            let mut bad = good.clone();
            mutate(&mut bad, &mut dice);
            // What can still be read has a key that is one, and a name of a fair length.
            if let Ok(made) = attested::read(&bad, Place(HOST)) {
                assert_eq!(Key::kept(made.key.algorithm(), made.key.bytes()), Ok(made.key));
                assert!((1..=LONGEST_CREDENTIAL).contains(&made.credential.len()));
            }
            assert_eq!(attested::read(&bad, Place("elsewhere")).ok(), None);
        }
    }
}

#[test]
fn keys_of_other_kinds_and_weak_ones_are_refused() {
    assert!(Key::kept(-257, &[0; 256]).is_err());
    assert!(Key::kept(-7, &[4; 64]).is_err());
    assert!(Key::kept(-8, &[0; 32]).is_err(), "a weak point");
    let mut one = [0; 32];
    one[0] = 1;
    assert!(Key::kept(-8, &one).is_err(), "the neutral point");
}
