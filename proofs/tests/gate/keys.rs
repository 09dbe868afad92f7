//! Random keys in the inbox under latency, reordering and restarts: no answer reaches a request
//! whose card was not on the screen.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{BROWSER, DRIVER, Fixture, alone, has_browser, report_figures, size};

/// How many sequences of keys; `COUNTERSIGN_KEY_SEQUENCES=1000` runs as many by hand.
fn sequences() -> usize {
    let named = std::env::var("COUNTERSIGN_KEY_SEQUENCES").ok();
    named.map_or_else(|| size(150, 1000), |number| number.parse().unwrap())
}

#[test]
fn no_key_answers_a_card_that_is_not_shown() {
    let _alone = alone();
    if !has_browser("keys") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // All rows are visible: as a digest, only the current one could be clicked.
    let settings = format!("{UNLIMITED}digest_from = 1000\n");
    let fixture = Fixture::new(TestInstallation::new(folder.path(), &settings).unwrap());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gate/keys.mjs");
    let mut child = Command::new("node")
        .arg(script)
        .env("TOOLS", DRIVER)
        .env("BROWSER", BROWSER)
        .env("PEOPLE", format!("http://{}", fixture.gate.people))
        .env("AGENTS", format!("http://{}", fixture.gate.agents))
        .env("AGENT_TOKEN", &fixture.agent)
        .env("PASSPHRASE", fixture.gate.passphrase.as_deref().unwrap())
        .env("SEQUENCES", sequences().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = child.stdin.take().unwrap();
    let heard = BufReader::new(child.stdout.take().unwrap());
    let Fixture { installation, gate, .. } = fixture;
    let mut gate = Some(gate);
    for line in heard.lines() {
        let line = line.unwrap();
        if line == "restart" {
            gate.take().unwrap().kill().unwrap();
            let fresh = installation.start().unwrap();
            writeln!(told, "http://{} http://{}", fresh.people, fresh.agents).unwrap();
            gate = Some(fresh);
        } else {
            report_figures(&format!("keys: {line}"));
        }
    }
    assert!(child.wait().unwrap().success());
}
