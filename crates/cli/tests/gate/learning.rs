//! Suggestions of grants and replay, with a real daemon.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Output;

use super::daemon::Daemon;
use super::fake_daemon::{stderr, stdout};

const CALL: &str = "frobnicate --rebuild index";

struct Desk {
    daemon: Daemon,
    token: String,
    passphrase: PathBuf,
    _folder: tempfile::TempDir,
}

impl Desk {
    fn open() -> Desk {
        Desk::in_mode("enforce")
    }

    fn in_mode(mode: &str) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("countersign.toml");
        std::fs::write(&config, format!("mode = \"{mode}\"\n")).unwrap();
        let words = ["--config", config.to_str().unwrap()];
        let daemon = Daemon::with(&folder.path().join("state"), &words);
        let passphrase = folder.path().join("passphrase");
        std::fs::write(&passphrase, daemon.passphrase()).unwrap();
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&passphrase, private).unwrap();
        let token = daemon.token();
        Desk { daemon, token, passphrase, _folder: folder }
    }

    fn person(&self, args: &[&str]) -> Output {
        let mut command = self.daemon.command(args);
        command.arg("--passphrase-file").arg(&self.passphrase);
        command.env("COUNTERSIGN_TOKEN", &self.token).output().unwrap()
    }

    /// The agent asks, and the person answers.
    fn answer(&self, command: &str, answer: &[&str]) {
        let asker = self.daemon.ask(command);
        let words = self.daemon.words(&self.token);
        let mut args = vec![answer[0], &words];
        args.extend(&answer[1..]);
        let output = self.person(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        asker.wait_with_output().unwrap();
    }

    fn suggestions(&self) -> Vec<serde_json::Value> {
        let output = self.person(&["grants", "suggestions", "--approvals", "3", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        found["suggestions"].as_array().unwrap().clone()
    }
}

const APPROVE: &[&str] = &["approve", "--yes"];
const DENY: &[&str] = &["deny", "--reason", "no"];

#[test]
fn approvals_in_a_row_suggest_exactly_this_call_and_a_denial_resets() {
    let desk = Desk::open();
    for answer in [APPROVE, APPROVE, DENY, APPROVE, APPROVE] {
        desk.answer(CALL, answer);
    }
    // HIGH is never suggested.
    for _ in 0..3 {
        desk.answer("rm -rf /srv/build", APPROVE);
    }
    assert!(desk.suggestions().is_empty());
    desk.answer(CALL, APPROVE);
    let found = desk.suggestions();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["approvals"], &found[0]["tier"]), (&3.into(), &"MEDIUM".into()));
    let text = stdout(&desk.person(&["grants", "suggestions", "--approvals", "3"]));
    assert!(text.contains("approved 3 times in a row"), "{text}");
    assert!(text.contains(CALL), "the whole call is shown: {text}");
    let id = found[0]["request"].as_str().unwrap();
    let unknown = desk.person(&["grants", "accept", "zzz", "--approvals", "3"]);
    assert_eq!(unknown.status.code(), Some(2));
    let too_few = desk.person(&["grants", "accept", id, "--approvals", "4"]);
    assert_eq!(too_few.status.code(), Some(2));
    let given = desk.person(&["grants", "accept", id, "--approvals", "3", "--minutes", "60"]);
    assert_eq!(given.status.code(), Some(0), "{}", stderr(&given));
    assert!(desk.suggestions().is_empty(), "the call has its grant now");
    let passed = desk.daemon.ask(CALL).wait_with_output().unwrap();
    assert_eq!(passed.status.code(), Some(0), "{}", stderr(&passed));
    // Another argument is another call.
    desk.answer("frobnicate --rebuild all", DENY);
}

#[test]
fn replay_names_the_denied_calls_that_would_pass() {
    let desk = Desk::open();
    desk.answer(CALL, APPROVE);
    desk.answer("rm -rf /srv/build", DENY);
    let same = desk.person(&["replay", "--mode", "enforce"]);
    assert_eq!(same.status.code(), Some(0), "{}", stderr(&same));
    assert!(stdout(&same).contains("No denied call would pass."), "{}", stdout(&same));
    let weaker = desk.person(&["replay", "--mode", "observe", "--json"]);
    assert_eq!(weaker.status.code(), Some(1), "{}", stderr(&weaker));
    let report: serde_json::Value = serde_json::from_slice(&weaker.stdout).unwrap();
    assert_eq!(
        (&report["calls"], &report["denied"], &report["fewer"]),
        (&2.into(), &1.into(), &2.into())
    );
    let passed = report["denied_passed"].as_array().unwrap();
    assert_eq!(passed.len(), 1);
    assert!(passed[0]["call"].as_str().unwrap().contains("/srv/build"), "{report}");
}

#[test]
fn replay_applies_rules_to_recorded_requests() {
    let desk = Desk::open();
    desk.answer(CALL, DENY);
    desk.answer("frobnicate --token sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", DENY);
    desk.answer("rm -rf /srv/build", APPROVE);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("candidate.toml");
    let rules = "[policy]\npermit_up_to = \"MEDIUM\"\n\
        [[policy.rule]]\nname = \"rebuild\"\ndecision = \"allow\"\n\
        commands = [\"frobnicate --rebuild index\"]\n\
        [[policy.rule]]\nname = \"no-delete\"\ndecision = \"deny\"\n\
        commands = [\"rm -rf\"]\n";
    std::fs::write(&file, rules).unwrap();
    let file = file.to_str().unwrap();
    let output = desk.person(&["replay", "--config", file, "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let passed = report["denied_passed"].as_array().unwrap();
    assert_eq!(passed.len(), 1, "{report}");
    assert!(passed[0]["call"].as_str().unwrap().contains("frobnicate"), "{report}");
    assert_eq!(report["then"]["refused"], 1, "{report}");
    // The call with a secret cannot be built again from its card.
    assert_eq!(report["not_comparable"], 1, "{report}");
    assert_eq!(report["denied_unknown"].as_array().unwrap().len(), 1, "{report}");
    let text = stdout(&desk.person(&["replay", "--config", file]));
    assert!(text.contains("1 call cannot be compared"), "{text}");
}

#[test]
fn replay_counts_calls_that_were_only_observed() {
    let desk = Desk::in_mode("observe");
    for command in [CALL, "rm -rf /srv/build", "ls"] {
        let passed = desk.daemon.ask(command).wait_with_output().unwrap();
        assert_eq!(passed.status.code(), Some(0), "{}", stderr(&passed));
    }
    let output = desk.person(&["replay", "--mode", "enforce", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts = ["calls", "observed", "approved", "denied"].map(|name| report[name].clone());
    assert_eq!(serde_json::json!(counts), serde_json::json!([2, 2, 0, 0]), "{report}");
    assert_eq!(report["then"]["questions"], 2, "{report}");
    let text = stdout(&desk.person(&["replay", "--mode", "observe"]));
    assert!(text.contains("2 of them were only observed: no person answered."), "{text}");
    assert!(text.contains("2 questions fewer"), "{text}");
}

#[test]
fn a_whitelist_in_yaml_becomes_grants() {
    let desk = Desk::open();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("whitelist.yaml");
    let list = "approval:\n  whitelist:\n\
        \x20   - pattern: \"frobnicate --rebuild index\" # routine\n      scope: always\n\
        \x20   - pattern: \"git add .\"\n      scope: session\n\
        \x20   - pattern: npm install\n      scope: auto\n\
        \x20   - pattern: \"rm -rf *\"\n      scope: always\n\
        \x20   - pattern: bash\n      scope: always\n\
        \x20   - pattern: curl x\n      scope: forever\n";
    std::fs::write(&file, list).unwrap();
    let file = file.to_str().unwrap();
    let tool = "shell";
    let output = desk.person(&["grants", "give", tool, "--from", file, "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let given = report["given"].as_array().unwrap();
    assert_eq!(given.len(), 1, "{report}");
    assert_eq!(given[0]["pattern"], CALL);
    let left: Vec<_> = report["left_out"].as_array().unwrap().iter().collect();
    let patterns: Vec<&str> = left.iter().map(|one| one["pattern"].as_str().unwrap()).collect();
    let wanted = ["git add .", "npm install", "rm -rf *", "bash", "curl x"];
    assert_eq!(patterns, wanted, "{report}");
    // It expires like every grant, and needs the passphrase.
    let listed = stdout(&desk.person(&["grants", "list"]));
    let line = listed.lines().find(|line| line.contains(CALL)).unwrap();
    assert!(line.contains("ends in 29 days"), "{listed}");
    let passed = desk.daemon.ask(CALL).wait_with_output().unwrap();
    assert_eq!(passed.status.code(), Some(0), "{}", stderr(&passed));
    desk.answer("frobnicate --rebuild all", DENY);
    let mut bare = desk.daemon.command(&["grants", "give", tool, "--from", file]);
    let refused = bare.env("COUNTERSIGN_TOKEN", &desk.token).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
    let other = desk.person(&["grants", "give", "send_email", "--from", file]);
    assert_eq!(other.status.code(), Some(2), "{}", stdout(&other));
    // With a named session its entries are given too.
    let session = ["--agent", "anonymous", "--session", "s1"];
    let mut words = vec!["grants", "give", tool, "--from", file, "--json"];
    words.extend(session);
    let report: serde_json::Value = serde_json::from_slice(&desk.person(&words).stdout).unwrap();
    assert_eq!(report["given"].as_array().map(Vec::len), Some(2), "{report}");
}

#[test]
fn feedback_reviews_and_confirmations_say_that_nothing_waits() {
    let desk = Desk::open();
    desk.answer(CALL, DENY);
    let listed = stdout(&desk.person(&["history", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let id = listed["requests"][0]["id"].as_str().unwrap();
    let regret = desk.person(&["feedback", id, "--wrong"]);
    assert_eq!(regret.status.code(), Some(2), "{}", stdout(&regret));
    assert!(stderr(&regret).contains("has not run"), "{}", stderr(&regret));
    assert_eq!(desk.person(&["feedback", id]).status.code(), Some(2));
    let reviews = stdout(&desk.person(&["reviews", "list"]));
    assert_eq!(reviews.trim(), "No call waits for a review.");
    let keep = desk.person(&["reviews", "keep", id]);
    assert_eq!(keep.status.code(), Some(2), "{}", stdout(&keep));
    let none = desk.person(&["config", "confirm", "0123456789abcdef"]);
    assert_eq!(none.status.code(), Some(2), "{}", stdout(&none));
    assert!(stderr(&none).contains("wait for confirmation"), "{}", stderr(&none));
}
