//! Web Push against a push service for tests that others wrote: npm's `web-push-testing`.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use proof_skip::{Cause, skip};
use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{Fixture, has, report_figures, shared};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/people/push.mjs");
/// Installed by `./test`.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/people");

#[test]
fn a_push_service_that_others_wrote_opens_what_we_send() {
    let _shared = shared();
    if !Path::new(TOOLS).join("node_modules/web-push-testing").is_dir() || !has("node") {
        return skip(Cause::Tool, "node or web-push-testing is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    // It listens on this machine, which no other push service does.
    let settings =
        format!("{UNLIMITED}[channels.webpush]\nkind = \"webpush\"\nallow_private = true\n");
    let fixture = Fixture::new(TestInstallation::new(folder.path(), &settings).unwrap());
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let out = Command::new("node")
        .arg(SCRIPT)
        .env("TOOLS", TOOLS)
        .env("SERVICE_PORT", free.to_string())
        .env("PEOPLE", format!("http://{}", fixture.gate.people))
        .env("AGENTS", format!("http://{}", fixture.gate.agents))
        .env("AGENT_TOKEN", &fixture.agent)
        .env("OWNER_TOKEN", &fixture.owner)
        .env("PASSPHRASE", fixture.gate.passphrase.as_deref().unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    for line in text.lines() {
        report_figures(&format!("push: {line}"));
    }
}
