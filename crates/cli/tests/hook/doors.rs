//! `countersign doctor` at the agents' doors: shut, open or not there, and nobody is bothered.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use countersign_client::Filter;
use serde_json::Value;

use crate::setting::Home;

const INSTALLED: [(&str, &str); 4] = [
    ("claude", "Claude Code"),
    ("gemini", "Gemini CLI"),
    ("copilot", "GitHub Copilot CLI"),
    ("opencode", "OpenCode"),
];

/// A `countersign` of this home, which can be broken.
pub fn own(home: &Home) -> PathBuf {
    let own = home.folder.path().join("countersign");
    if !own.exists() {
        let built = env!("CARGO_BIN_EXE_countersign");
        fs::hard_link(built, &own).or_else(|_| fs::copy(built, &own).map(drop)).unwrap();
    }
    own
}

pub fn command(home: &Home, program: PathBuf, words: &[&str]) -> Command {
    let like = home.command(words);
    let mut command = Command::new(program);
    command.args(words).env_clear().current_dir(home.folder.path());
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn install(home: &Home) {
    for (agent, _) in INSTALLED {
        let done = command(home, own(home), &["install", agent, "--yes"]).output().unwrap();
        assert!(done.status.success(), "{agent}: {done:?}");
    }
}

/// What the doctor says of one agent: the mark and the words.
pub fn said(home: &Home, title: &str) -> Option<(String, String)> {
    let out = home.command(&["doctor", "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&out.stdout).unwrap();
    let checks = told["checks"].as_array().unwrap();
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let found = checks.iter().find(|check| text(check, "say").starts_with(title))?;
    Some((text(found, "mark"), text(found, "say")))
}

#[test]
fn a_forbidden_call_is_refused_at_every_installed_door_and_nobody_is_asked() {
    let home = Home::new();
    install(&home);
    for (agent, title) in INSTALLED {
        let (mark, say) = said(&home, title).unwrap();
        assert_eq!(mark, "ok", "{agent}: {say}");
        assert!(say.contains("shut") && say.contains("refuses"), "{agent}: {say}");
    }
    assert_eq!(said(&home, "Cursor"), None, "it is not here");
    let waiting = home.person().list(&Filter::default()).unwrap();
    assert!(waiting.requests.is_empty(), "{waiting:?}");
    home.ledger_with("countersign_proof_of_gate");
}

#[test]
fn without_a_daemon_the_doors_are_shut_too() {
    let home = Home::empty();
    install(&home);
    for (agent, title) in INSTALLED {
        let (mark, say) = said(&home, title).unwrap();
        assert_eq!(mark, "ok", "{agent}: {say}");
        assert!(say.contains("nobody could be asked"), "{agent}: {say}");
    }
}

#[test]
fn a_hook_that_says_yes_to_everything_is_called_open() {
    let home = Home::empty();
    install(&home);
    let own = own(&home);
    fs::remove_file(&own).unwrap();
    fs::write(&own, "#!/bin/sh\nprintf '{}'\n").unwrap();
    fs::set_permissions(&own, PermissionsExt::from_mode(0o755)).unwrap();
    let (mark, say) = said(&home, "Claude Code").unwrap();
    assert_eq!(mark, "bad", "{say}");
    assert!(say.contains("open"), "{say}");
}

#[test]
fn an_agent_that_is_here_and_has_no_gate_is_named() {
    let home = Home::empty();
    fs::create_dir(home.folder.path().join(".claude")).unwrap();
    let (mark, say) = said(&home, "Claude Code").unwrap();
    assert_eq!(mark, "note", "{say}");
    assert!(say.contains("not gated"), "{say}");
}
