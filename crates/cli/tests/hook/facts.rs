//! What the hook finds on the machine, and what it changes: with the real daemon and real files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::fixture::{HookOutput, TestHome, approve, waiting};

/// A project in git with one committed folder.
pub fn project(home: &TestHome) -> PathBuf {
    let root = home.folder.path().join("shop");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/a.rs"), "fn a() {}\n").unwrap();
    fs::write(root.join("src/b.rs"), "fn b() {}\n").unwrap();
    git(&root, &["init", "-q"]);
    git(&root, &["add", "."]);
    let name = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    git(&root, &[&name[..], &["commit", "-qm", "first"]].concat());
    root
}

pub fn git(root: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(words).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(command.status().unwrap().success(), "git {words:?}");
}

fn event(root: &Path, tool: &str, input: &Value) -> Value {
    json!({
        "hook_event_name": "PreToolUse", "session_id": "s1", "cwd": root, "tool_name": tool,
        "tool_use_id": "t1", "tool_input": input, "permission_mode": "default",
    })
}

pub fn bash(root: &Path, command: &str) -> Value {
    event(root, "Bash", &json!({ "command": command }))
}

/// A hook that an agent in this folder started.
pub fn hook(home: &TestHome, patience: &str, input: &Value) -> Child {
    let mut command = home.command(&["hook", "claude", "--patience", patience]);
    command.current_dir(input["cwd"].as_str().unwrap());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    serde_json::to_writer(child.stdin.take().unwrap(), input).unwrap();
    child
}

fn word(home: &TestHome, input: &Value) -> String {
    HookOutput::of(hook(home, "1", input)).claude().0
}

/// The card of the only pending request.
pub fn pending_card(home: &TestHome) -> String {
    let request = waiting(&home.person(), 1).remove(0);
    home.card(request.id.as_deref().unwrap())
}

#[test]
fn what_git_can_bring_back_is_deleted_without_a_question() {
    let home = TestHome::new();
    let root = project(&home);
    assert_eq!(word(&home, &bash(&root, "rm -rf src")), "nothing");
    assert_eq!(word(&home, &bash(&root, "rm -rf never/there")), "nothing");
    assert_eq!(word(&home, &bash(&root, "git checkout -- .")), "nothing");
    assert_eq!(word(&home, &bash(&root, "git clean -fd")), "nothing");
    // The first command may put other files there.
    assert_eq!(word(&home, &bash(&root, "mv ../other src; rm -rf src")), "deny");
}

#[test]
fn changed_work_is_asked_about_and_the_card_counts_it() {
    let home = TestHome::new();
    let root = project(&home);
    fs::write(root.join("src/a.rs"), "fn a() { changed() }\n").unwrap();
    assert_eq!(word(&home, &bash(&root, "rm -rf src")), "deny");
    let card = pending_card(&home);
    let line = "2 files, 1 of them changed since the last commit";
    assert!(card.contains(line), "{card}");
}

#[test]
fn changed_work_is_not_thrown_away_by_git() {
    let home = TestHome::new();
    let root = project(&home);
    fs::write(root.join("src/new.rs"), "").unwrap();
    assert_eq!(word(&home, &bash(&root, "git clean -fd")), "deny");
    fs::remove_file(root.join("src/new.rs")).unwrap();
    fs::write(root.join("src/a.rs"), "fn a() { changed() }\n").unwrap();
    assert_eq!(word(&home, &bash(&root, "git checkout -- src/b.rs")), "deny");
}

#[test]
fn a_symlink_is_assessed_by_where_it_leads() {
    let home = TestHome::new();
    let root = project(&home);
    let keys = home.folder.path().join(".ssh");
    fs::create_dir_all(&keys).unwrap();
    fs::write(keys.join("id_rsa"), "key").unwrap();
    std::os::unix::fs::symlink(keys.join("id_rsa"), root.join("notes.txt")).unwrap();
    std::os::unix::fs::symlink(&keys, root.join("docs")).unwrap();
    assert_eq!(word(&home, &bash(&root, "cat src/a.rs")), "nothing");
    assert_eq!(word(&home, &bash(&root, "cat notes.txt")), "deny");
    let read = event(&root, "Read", &json!({ "file_path": root.join("docs/id_rsa") }));
    assert_eq!(word(&home, &read), "deny");
    let cards = waiting(&home.person(), 2);
    let cards: Vec<String> =
        cards.iter().map(|request| home.card(request.id.as_deref().unwrap())).collect();
    assert!(cards.iter().all(|card| card.contains(".ssh/id_rsa")), "{cards:#?}");
}

#[test]
fn a_script_is_assessed_by_its_text() {
    let home = TestHome::new();
    let root = project(&home);
    fs::write(root.join("ok.sh"), "ls src\n").unwrap();
    assert_eq!(word(&home, &bash(&root, "bash ok.sh")), "nothing");
    fs::write(root.join("clean.sh"), "echo cleaning\nrm -rf ~/Documents\n").unwrap();
    assert_eq!(word(&home, &bash(&root, "bash clean.sh")), "deny");
    let card = pending_card(&home);
    assert!(card.contains("Documents") && card.contains("runs clean.sh (2 lines, read)"), "{card}");
}

#[test]
fn a_script_that_changed_after_the_approval_does_not_run() {
    let home = TestHome::new();
    let root = project(&home);
    let person = home.person();
    fs::write(root.join("clean.sh"), "rm -rf ~/Documents/old\n").unwrap();
    let waits = hook(&home, "20", &bash(&root, "bash clean.sh"));
    let asked = waiting(&person, 1);
    fs::write(root.join("clean.sh"), "rm -rf ~/Documents\n").unwrap();
    approve(&person, &asked);
    let said = HookOutput::of(waits);
    assert_eq!(said.claude().0, "deny", "{said:?}");
    // The unchanged script runs once.
    fs::write(root.join("clean.sh"), "rm -rf ~/Documents/old\n").unwrap();
    let retry = HookOutput::of(hook(&home, "5", &bash(&root, "bash clean.sh")));
    assert_eq!(retry.claude().0, "allow", "{retry:?}");
}
