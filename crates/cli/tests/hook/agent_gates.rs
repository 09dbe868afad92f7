//! `countersign doctor` tests the gates of agents, and no one is asked.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use countersign_client::Filter;
use countersign_gateways::agents::AGENTS;
use serde_json::Value;

use crate::fixture::TestHome;

/// The agents whose gate is in effect without their own program, by name and title.
fn installable() -> impl Iterator<Item = (&'static str, &'static str)> {
    AGENTS.into_iter().filter(|agent| agent.name != "codex").map(|agent| (agent.name, agent.title))
}

/// A `countersign` of this home, which can be broken.
pub fn own(home: &TestHome) -> PathBuf {
    let own = home.folder.path().join("countersign");
    if !own.exists() {
        let built = env!("CARGO_BIN_EXE_countersign");
        fs::hard_link(built, &own).or_else(|_| fs::copy(built, &own).map(drop)).unwrap();
    }
    own
}

pub fn command(home: &TestHome, program: PathBuf, words: &[&str]) -> Command {
    let like = home.command(words);
    let mut command = Command::new(program);
    command.args(words).env_clear().current_dir(home.folder.path());
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn install(home: &TestHome) {
    for (agent, _) in installable() {
        let done = command(home, own(home), &["install", agent, "--yes"]).output().unwrap();
        assert!(done.status.success(), "{agent}: {done:?}");
    }
}

/// The doctor's check of one agent: the mark and the message.
pub fn said(home: &TestHome, title: &str) -> Option<(String, String)> {
    let out = home.command(&["doctor", "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&out.stdout).unwrap();
    let checks = told["checks"].as_array().unwrap();
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let found = checks.iter().find(|check| text(check, "say").starts_with(title))?;
    Some((text(found, "mark"), text(found, "say")))
}

#[test]
fn every_installed_gate_refuses_a_forbidden_call_and_nobody_is_asked() {
    let home = TestHome::new();
    install(&home);
    for (agent, title) in installable() {
        let (mark, say) = said(&home, title).unwrap();
        assert_eq!(mark, "ok", "{agent}: {say}");
        assert!(
            say.contains(": protected") && say.contains("policy does not allow"),
            "{agent}: {say}"
        );
    }
    assert_eq!(said(&home, "Codex"), None, "it is not installed");
    let waiting = home.person().list(&Filter::default()).unwrap();
    assert!(waiting.requests.is_empty(), "{waiting:?}");
    home.ledger_with("countersign_proof_of_gate");
}

#[test]
fn without_a_daemon_the_gates_refuse_too() {
    let home = TestHome::empty();
    install(&home);
    for (agent, title) in installable() {
        let (mark, say) = said(&home, title).unwrap();
        assert_eq!(mark, "ok", "{agent}: {say}");
        assert!(say.contains("no person could be asked"), "{agent}: {say}");
    }
}

#[test]
fn a_hook_that_allows_everything_is_not_protected() {
    let home = TestHome::empty();
    install(&home);
    let own = own(&home);
    fs::remove_file(&own).unwrap();
    fs::write(&own, "#!/bin/sh\nprintf '{}'\n").unwrap();
    fs::set_permissions(&own, PermissionsExt::from_mode(0o755)).unwrap();
    let (mark, say) = said(&home, "Claude Code").unwrap();
    assert_eq!(mark, "bad", "{say}");
    assert!(say.contains("NOT PROTECTED"), "{say}");
}

#[test]
fn an_agent_without_a_gate_is_listed() {
    let home = TestHome::empty();
    fs::create_dir(home.folder.path().join(".claude")).unwrap();
    let (mark, say) = said(&home, "Claude Code").unwrap();
    assert_eq!(mark, "note", "{say}");
    assert!(say.contains("not protected: no gate is installed"), "{say}");
}
