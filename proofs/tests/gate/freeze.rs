//! A freeze reaches the hook that agents start: read-only calls, which it passes by itself, are
//! refused with the reason, and come back with the thaw.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use countersign_gateways::agents::AGENTS;
use countersign_gateways::programs::small_program_beside;
use proof_skip::{Cause, skip};
use proofs::installation::TestInstallation;
use serde_json::{Value, json};

use crate::fixture::{Fixture, shared};

/// The built `countersign`, beside the tests.
fn countersign() -> Option<PathBuf> {
    let here = std::env::current_exe().unwrap();
    let mut folders = here.ancestors().skip(1).take(2);
    let found = folders.find_map(|at| Some(at.join("countersign")).filter(|at| at.is_file()));
    if found.is_none() {
        skip(Cause::Tool, "no `countersign` beside the tests: cargo build -p countersign");
    }
    found
}

/// What the agent's hook answers to a shell command.
fn hook(program: &Path, house: &Path, command: &str) -> String {
    let agent = AGENTS[0];
    let mut event: Value = (agent.hook.announce)("Bash", "session-1");
    event["tool_input"] = json!({ "command": command });
    let mut child = Command::new(program)
        .args(["hook", agent.name, "--patience", "5", "--daemon-key"])
        .arg(house.join("state/daemon.pub"))
        .env_clear()
        .env("HOME", house)
        .env("PATH", "/usr/bin:/bin")
        .env("COUNTERSIGN_STATE", house.join("state"))
        .env("COUNTERSIGN_CONFIG", house.join("countersign.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
}

#[test]
fn a_freeze_reaches_the_hook_and_ends_with_the_thaw() {
    let _shared = shared();
    let Some(countersign) = countersign() else { return };
    let small = small_program_beside(&countersign);
    let folder = tempfile::tempdir().unwrap();
    let house = folder.path();
    let fixture = Fixture::new(TestInstallation::new(house, "").unwrap());
    let mut people = fixture.owner_client();
    let reads = |program: &Path| hook(program, house, "ls -la");
    let refuses = |program: &Path| reads(program).contains("frozen by owner");
    assert!(!refuses(&small) && !refuses(&countersign), "{}", reads(&small));
    let frozen = people.post("/v1/freeze", &json!({})).unwrap();
    assert_eq!(frozen.status, 200, "{}", frozen.body);
    assert!(refuses(&small), "{}", reads(&small));
    assert!(refuses(&countersign), "{}", reads(&countersign));
    let risky = hook(&small, house, "git push --force origin main");
    assert!(risky.contains("frozen by owner"), "{risky}");
    let thawed = people.post("/v1/thaw", &json!({ "resume": "people" })).unwrap();
    assert_eq!(thawed.status, 200, "{}", thawed.body);
    assert!(!refuses(&small) && !refuses(&countersign), "{}", reads(&small));
}
