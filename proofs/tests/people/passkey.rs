//! Passkeys in a real browser with a virtual authenticator: added, used, stolen, copied.

use std::path::Path;
use std::process::Command;

use proofs::house::{House, OPEN_HOUSE};

use crate::setting::{Setting, alone, say};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/people/passkey.mjs");
/// Installed by `./test`.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/browser");
const BROWSER: &str = "/usr/bin/chromium";

#[test]
fn a_passkey_signs_what_is_critical_and_nothing_else_does() {
    let _alone = alone();
    let driver = Path::new(TOOLS).join("node_modules/playwright-core");
    if !driver.is_dir() || !Path::new(BROWSER).is_file() {
        say("passkey: skipped, Chromium or playwright-core is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(House::new(folder.path(), OPEN_HOUSE).unwrap());
    let out = Command::new("node")
        .arg(SCRIPT)
        .env("TOOLS", TOOLS)
        .env("BROWSER", BROWSER)
        .env("PORT", setting.gate.people.port().to_string())
        .env("AGENTS", format!("http://{}", setting.gate.agents))
        .env("AGENT_TOKEN", &setting.agent)
        .env("PASSPHRASE", setting.gate.passphrase.as_deref().unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    for line in text.lines() {
        say(&format!("passkey: {line}"));
    }
}
