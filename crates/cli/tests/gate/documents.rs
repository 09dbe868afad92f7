//! `ledger` and `permit`, offline: changes are detected.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Output;

use countersign_json as json;
use countersign_json::canonical::Digest;
use countersign_ledger::checkpoint::{Checkpoint, VerifierKey};
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_ledger::permit;
use countersign_ledger::permit::Claims;
use countersign_ledger::verify::Verifier;
use countersign_risk::call_digest;
use countersign_types::tier::Tier;
use ed25519_dalek::{Signer as _, SigningKey};

use super::fake_daemon::{countersign, stderr, stdout};

fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn run(args: &[&str]) -> Output {
    countersign().args(args).output().unwrap()
}

#[test]
fn a_ledger_is_valid_or_the_first_error_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    let mut verifier = Verifier::new();
    for at in 0..50 {
        let mut entry = Entry::new(at, EntryKind::Pass, Digest::of(b"policy"));
        entry.agent = Some("bot".into());
        let line = entry.encode().unwrap();
        verifier.feed(line.as_bytes()).unwrap();
        writeln!(text, "{line}").unwrap();
    }
    let public = key().verifying_key().to_bytes();
    let point = Checkpoint { origin: "ours".to_owned(), size: 50, root: verifier.root() };
    let note = point.sign("ours", &public, |body| key().sign(body).to_bytes()).unwrap();
    let file = written(folder.path(), "ledger.jsonl", &text);
    let note = written(folder.path(), "note", &note);
    let vkey =
        written(folder.path(), "key", &format!("{}\n", VerifierKey::new("ours", public).unwrap()));
    let verify = |file: &str| {
        run(&["ledger", "verify", "--file", file, "--checkpoint", &note, "--key", &vkey])
    };
    let output = verify(&file);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("Nothing up to entry 50 was changed"), "{}", stdout(&output));
    let changed = text.replacen("\"bot\",\"at\":7,", "\"bat\",\"at\":7,", 1);
    assert_ne!(changed, text);
    let cut: String = text.lines().take(49).fold(String::new(), |all, line| all + line + "\n");
    let swapped = text.replacen("\"at\":7,", "\"at\":70,", 1);
    for (name, bad) in [("changed", changed), ("cut", cut), ("swapped", swapped)] {
        let file = written(folder.path(), name, &bad);
        let output = verify(&file);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", stdout(&output));
        assert!(stdout(&output).starts_with("The ledger is invalid: "), "{}", stdout(&output));
    }
    let output = run(&["ledger", "verify", "--file", &file]);
    assert!(stdout(&output).contains("Not compared with any checkpoint"), "{}", stdout(&output));
    let other =
        VerifierKey::new("ours", SigningKey::from_bytes(&[8; 32]).verifying_key().to_bytes());
    let other = other.unwrap().to_string();
    let output =
        run(&["ledger", "verify", "--file", &file, "--checkpoint", &note, "--key", &other]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
}

#[test]
fn a_permit_is_valid_only_for_its_call() {
    let folder = tempfile::tempdir().unwrap();
    let call = r#"{"tool": "pay", "arguments": {"amount": 5}}"#;
    let value = json::parse(call).unwrap();
    let mut parsed = countersign_risk::call::Call::from_json(&value).unwrap();
    parsed.agent = Some("bot".into());
    let digest = call_digest::digest(&parsed, b"{\"amount\": 5}");
    let public = key().verifying_key().to_bytes();
    let claims = Claims {
        iss: "countersign".to_owned(),
        sub: "bot".to_owned(),
        aud: None,
        iat: 1_700_000_000,
        exp: 4_000_000_000,
        jti: "j".to_owned(),
        request: "r".to_owned(),
        digest: digest.canonical,
        raw_digest: digest.raw,
        both_bind: digest.both_bind,
        tool: "pay".to_owned(),
        session: None,
        tier: Tier::High,
        decided_by: "ana".to_owned(),
        channel: "web".to_owned(),
        grant: None,
        policy: Digest::of(b"policy"),
    };
    let input = permit::signing_input(&claims, &permit::thumbprint(&public)).unwrap();
    let jws = permit::assemble(&input, &key().sign(input.as_bytes()).to_bytes());
    let jws = written(folder.path(), "permit", &format!("{jws}\n"));
    let keys = written(folder.path(), "keys.json", &permit::jwks(&[public]));
    let verify = |call: &str, agent: &str, keys: &str| {
        run(&["permit", "verify", &jws, "--jwks", keys, "--call", call, "--agent", agent])
    };
    let output = verify(call, "bot", &keys);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let output = verify(r#"{"arguments": {"amount":5}, "tool": "pay"}"#, "bot", &keys);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    for (call, agent) in [
        (r#"{"tool": "pay", "arguments": {"amount": 6}}"#, "bot"),
        (r#"{"tool": "pay", "arguments": {"amount": 5}, "cwd": "/x"}"#, "bot"),
        (call, "another"),
    ] {
        let output = verify(call, agent, &keys);
        assert_eq!(output.status.code(), Some(1), "{call}: {}", stdout(&output));
    }
    let foreign = SigningKey::from_bytes(&[9; 32]).verifying_key().to_bytes();
    let foreign = written(folder.path(), "foreign.json", &permit::jwks(&[foreign]));
    assert_eq!(verify(call, "bot", &foreign).status.code(), Some(1));
    assert_eq!(verify("{", "bot", &keys).status.code(), Some(2));
}
