//! Checkpoints: published examples, every rejection, several signatures.

use ed25519_dalek::{Signature as Ed25519, Signer, SigningKey, VerifyingKey};

use super::*;

/// The example of the C2SP specification.
const EXAMPLE: &str = "example.com/behind-the-sofa\n20852163\n\
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
    \u{2014} example.com/behind-the-sofa \
    Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";

/// The key in the documentation of Go's signed notes, and a signature it made there.
const GO_KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const GO_SECRET: &str = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";

fn holds(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let key = VerifyingKey::from_bytes(key);
    key.is_ok_and(|key| key.verify_strict(message, &Ed25519::from_bytes(signature)).is_ok())
}

fn secret(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn checkpoint() -> Checkpoint {
    Checkpoint { origin: "ledger.example/one".into(), size: 42, root: Digest::of(b"root") }
}

fn signed(seed: u8, name: &str) -> (String, VerifierKey) {
    let secret = secret(seed);
    let public = secret.verifying_key().to_bytes();
    let note = checkpoint().sign(name, &public, |bytes| secret.sign(bytes).to_bytes()).unwrap();
    (note, VerifierKey::new(name, public).unwrap())
}

#[test]
fn the_published_example_is_parsed() {
    let signed = parse(EXAMPLE).unwrap();
    assert_eq!(signed.checkpoint.origin, "example.com/behind-the-sofa");
    assert_eq!(signed.checkpoint.size, 20_852_163);
    assert_eq!(signed.checkpoint.body(), signed.text);
    assert_eq!(signed.signatures[0].key_id, [0x03, 0x3d, 0xe0, 0xae]);
    assert_eq!(signed.signatures[0].signature.len(), 64);
    assert_eq!(format!("{}\n{}", signed.text, signed.signatures[0].line()), EXAMPLE);
}

#[test]
fn the_key_of_the_go_documentation_is_parsed_and_verifies() {
    let key = VerifierKey::parse(GO_KEY).unwrap();
    assert_eq!((key.name(), key.id()), ("PeterNeumann", [0xc7, 0x4f, 0x20, 0xa3]));
    assert_eq!(key.to_string(), GO_KEY);
    let seed = base64::decode(GO_SECRET).unwrap();
    let secret = SigningKey::from_bytes(seed[1..].try_into().unwrap());
    assert_eq!(secret.verifying_key().to_bytes(), *key.public_key());
    let text = "If you think cryptography is the answer to your problem,\n\
                then you don't know what your problem is.\n";
    let signature = secret.sign(text.as_bytes()).to_bytes().to_vec();
    let line = Signature { name: "PeterNeumann".into(), key_id: key.id(), signature }.line();
    assert_eq!(
        line,
        "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
    );
}

#[test]
fn a_checkpoint_verifies_only_with_its_key() {
    let (note, key) = signed(1, "ledger.example/one");
    assert_eq!(verify(&note, &key, holds), Ok(checkpoint()));
    // Same key, other name; same name, other key; another key that claims our key's line.
    let (_, other_name) = signed(1, "ledger.example/two");
    assert_eq!(verify(&note, &other_name, holds), Err(NoteError::NotSigned));
    let (_, other_key) = signed(2, "ledger.example/one");
    assert_eq!(verify(&note, &other_key, holds), Err(NoteError::NotSigned));
    let forger = secret(2);
    let forged = checkpoint()
        .sign("ledger.example/one", key.public_key(), |bytes| forger.sign(bytes).to_bytes());
    assert_eq!(verify(&forged.unwrap(), &key, holds), Err(NoteError::Forged));
    // A verifier that always returns false is respected.
    assert_eq!(verify(&note, &key, |_, _, _| false), Err(NoteError::Forged));
}

#[test]
fn cosignatures_are_kept_and_ignored() {
    let (mut note, key) = signed(1, "ledger.example/one");
    let witness =
        Signature { name: "witness.example".into(), key_id: [1, 2, 3, 4], signature: vec![9; 72] };
    note.push_str(&witness.line());
    assert_eq!(verify(&note, &key, holds), Ok(checkpoint()));
    assert_eq!(parse(&note).unwrap().signatures[1], witness);
    // An invalid signature of this key rejects the note even next to a valid one.
    let bad =
        Signature { name: key.name().into(), key_id: key.id(), signature: vec![7; 64] }.line();
    assert_eq!(verify(&format!("{note}{bad}"), &key, holds), Err(NoteError::Forged));
    let short =
        Signature { name: key.name().into(), key_id: key.id(), signature: vec![7; 63] }.line();
    assert_eq!(verify(&format!("{note}{short}"), &key, holds), Err(NoteError::Forged));
}

#[test]
fn every_changed_byte_is_detected() {
    let (note, key) = signed(1, "ledger.example/one");
    for at in 0..note.len() {
        for change in 1..=255_u8 {
            let mut bytes = note.clone().into_bytes();
            bytes[at] ^= change;
            let Ok(bad) = String::from_utf8(bytes) else { continue };
            // Parsing finds most changes; the signature finds the rest.
            let deep = change.is_power_of_two();
            let believed = verify(&bad, &key, |k, m, s| deep && holds(k, m, s));
            assert!(believed.is_err(), "byte {at} changed by {change:#x}");
        }
    }
}

#[test]
fn other_forms_are_rejected() {
    let (note, _) = signed(1, "ledger.example/one");
    let refused = |bad: String, why: NoteError| {
        assert_ne!(bad, note);
        assert_eq!(parse(&bad), Err(why), "{bad}");
    };
    refused(note.replace('\n', "\r\n"), NoteError::Control);
    refused(note.replace("42", "042"), NoteError::Size);
    refused(note.replace("42", "+42"), NoteError::Size);
    refused(note.replace("42", "-1"), NoteError::Size);
    refused(note.replace("42", ""), NoteError::Size);
    refused(note.replace("42", "4 2"), NoteError::Size);
    refused(note.replace("42", "18446744073709551616"), NoteError::Size);
    refused(note.replacen("ledger.example/one", "", 1), NoteError::Origin);
    refused(note.replacen("=\n", "\n", 1), NoteError::Root);
    refused(note.replacen("=\n", "==\n", 1), NoteError::Root);
    refused(note.trim_end().to_owned(), NoteError::Shape);
    refused(note.replace("\n\n", "\n"), NoteError::Shape);
    refused(format!("{note}\n"), NoteError::Shape);
    refused(format!("{note}more\n"), NoteError::Signature);
    refused(note.replace('\u{2014}', "-"), NoteError::Signature);
    refused(note.replace("\u{2014} l", "\u{2014}  l"), NoteError::Signature);
    refused(format!("{note}\u{2014} a+b AAAAAAA=\n"), NoteError::Signature);
    refused(format!("{note}\u{2014} a AAAAAA==\n"), NoteError::Signature);
    refused("x".repeat(MAX_NOTE + 1), NoteError::TooLong);
    refused(String::new(), NoteError::Shape);
    // Extension lines are part of the format; blank ones are not.
    let with = note.replacen("=\n", "=\nextension\n", 1);
    assert_eq!(parse(&with).unwrap().extensions, ["extension"]);
    refused(note.replacen("=\n", "=\n\nx\n", 1), NoteError::Shape);
}

#[test]
fn a_checkpoint_that_could_not_be_parsed_is_not_signed() {
    let public = secret(1).verifying_key().to_bytes();
    let sign = |origin: &str, name: &str| {
        let checkpoint = Checkpoint { origin: origin.into(), ..checkpoint() };
        checkpoint.sign(name, &public, |_| [0; 64])
    };
    assert!(sign("a b", "k").is_ok());
    for origin in ["", "evil\n999", "a\r", &"x".repeat(MAX_NAME + 1)] {
        assert_eq!(sign(origin, "k"), Err(NoteError::Origin), "{origin:?}");
    }
    for name in ["", "a b", "a+b", "a\nb", "a\u{a0}b", "a\u{7f}", &"x".repeat(MAX_NAME + 1)] {
        assert_eq!(sign("o", name), Err(NoteError::Name), "{name:?}");
    }
    for text in [
        "",
        "PeterNeumann",
        "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+AhpcQcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW=",
    ] {
        assert!(VerifierKey::parse(text).is_err(), "{text}");
    }
}
