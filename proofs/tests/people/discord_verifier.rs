//! Our reading of Discord's signatures beside that of Discord's own library.

use std::path::Path;
use std::process::Command;

use proof_skip::{Cause, skip};
use serde_json::json;

use crate::discord::{forge, hooked, key, sign};
use crate::fake_platform::{hex, now};
use crate::fixture::{Rng, has, report_figures, shared, size};
use crate::tools::{tools, verified};

#[test]
fn what_discords_own_library_accepts_we_accept_and_nothing_else() {
    let library = tools().join("people/node_modules/discord-interactions/dist/index.js");
    if !has("node") || !library.is_file() {
        return skip(Cause::Tool, "node or discord-interactions is not installed");
    }
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let (_discord, fixture, mut caller) = hooked(folder.path());
    let (mut rng, many) = (Rng(0xd15c), size(400, 10_000));
    let public = hex(key().verifying_key().as_bytes());
    let mut cases = Vec::new();
    let mut ours = Vec::new();
    for number in 0..many {
        let body =
            json!({ "id": number.to_string(), "type": 1, "user": { "username": "Zoë 🦊 \"" } });
        let mut body = body.to_string().into_bytes();
        let mut seconds = now().to_string();
        let mut signature = sign(&key(), &seconds, &body);
        match rng.below(4) {
            0 => {}
            1 => signature = signature.to_uppercase(),
            // Freshness is ours to check, not the library's: no old times in here.
            _ => loop {
                let (old_seconds, old) = (seconds.clone(), (signature.clone(), body.clone()));
                forge(&mut rng, &mut seconds, &mut signature, &mut body);
                let fresh = seconds.parse::<u64>().unwrap() + 250 > now();
                if fresh && !signature.is_empty() && String::from_utf8(body.clone()).is_ok() {
                    break;
                }
                seconds = old_seconds;
                (signature, body) = old;
            },
        }
        let text = String::from_utf8(body.clone()).unwrap();
        cases.push(json!({
            "body": text, "signature": signature, "timestamp": seconds, "key": public,
        }));
        let headers = [
            ("x-signature-timestamp", seconds.as_str()),
            ("x-signature-ed25519", signature.as_str()),
        ];
        ours.push(caller.post(&headers, &body).0 == 200);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/people/discord_verifier.cjs");
    let theirs = verified(Command::new("node").arg(script).arg(library), &cases);
    assert_eq!(theirs.len(), ours.len());
    for ((theirs, ours), case) in theirs.iter().zip(&ours).zip(&cases) {
        assert_eq!(theirs, ours, "{case}");
    }
    let accepted = ours.iter().filter(|accepted| **accepted).count();
    assert!(accepted > many / 4 && accepted < many, "{accepted}");
    report_figures(&format!(
        "discord-interactions: {many} requests verified alike, {accepted} of them good"
    ));
    assert!(fixture.gate.stop().unwrap());
}
