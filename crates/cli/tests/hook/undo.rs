//! `countersign undo` after calls through the installed hook, with the real daemon and real files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::fixture::{HookOutput, TestHome};

fn project(home: &TestHome) -> PathBuf {
    let root = home.folder.path().canonicalize().unwrap().join("shop");
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::write(root.join("notes.txt"), "first line\nsecond line\n").unwrap();
    root
}

/// What the hook says to an event; "nothing" lets the call run.
fn tell(home: &TestHome, root: &Path, name: &str, tool: &str, input: &Value) -> String {
    let event = json!({
        "hook_event_name": name, "session_id": "s1", "cwd": root, "tool_name": tool,
        "tool_use_id": input.to_string(), "tool_input": input, "permission_mode": "default",
        "tool_response": {},
    });
    let mut command = home.command(&["hook", "claude", "--patience", "1"]);
    command.current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    serde_json::to_writer(child.stdin.take().unwrap(), &event).unwrap();
    HookOutput::of(child).claude().0
}

fn write(home: &TestHome, root: &Path, file: &Path, content: &str) {
    let input = json!({ "file_path": file, "content": content });
    assert_eq!(tell(home, root, "PreToolUse", "Write", &input), "nothing");
    fs::write(file, content).unwrap();
    assert_eq!(tell(home, root, "PostToolUse", "Write", &input), "nothing");
}

fn undo(home: &TestHome, words: &[&str]) -> Output {
    home.command(&[&["undo"][..], words].concat()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The changes that can be undone, newest first.
fn listed(home: &TestHome) -> Vec<Value> {
    serde_json::from_str(&text(&undo(home, &["--json"]))).unwrap()
}

#[test]
fn a_file_that_an_agent_wrote_is_restored() {
    let home = TestHome::new();
    let root = project(&home);
    let notes = root.join("notes.txt");
    write(&home, &root, &notes, "first line\nchanged\n");
    let all = listed(&home);
    assert_eq!(
        (all.len(), &all[0]["agent"], &all[0]["session"]),
        (1, &json!("claude"), &json!("s1"))
    );
    assert_eq!(all[0]["files"], json!([notes]));
    let id = all[0]["id"].as_str().unwrap();
    let shown = text(&undo(&home, &["show", id]));
    assert!(shown.contains("- second line\n+ changed\n"), "{shown}");
    let planned = text(&undo(&home, &[id, "--dry-run"]));
    assert!(planned.contains("- changed\n+ second line\n"), "{planned}");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "first line\nchanged\n");

    // A person edits the file: it is only overwritten if the person says so.
    fs::write(&notes, "by hand\n").unwrap();
    let refused = undo(&home, &[id]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused).contains("--force"), "{}", text(&refused));
    assert_eq!(fs::read_to_string(&notes).unwrap(), "by hand\n");
    assert_eq!(undo(&home, &[id, "--force"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&notes).unwrap(), "first line\nsecond line\n");
    // What was there is the newest change that can be undone.
    let redo = listed(&home)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(undo(&home, &[&redo]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&notes).unwrap(), "by hand\n");
    assert_eq!(undo(&home, &["nothing"]).status.code(), Some(2));
}

#[test]
fn a_deleted_file_comes_back_and_a_new_one_goes() {
    let home = TestHome::new();
    let root = project(&home);
    let input = json!({ "command": "rm notes.txt" });
    assert_eq!(tell(&home, &root, "PreToolUse", "Bash", &input), "nothing");
    fs::remove_file(root.join("notes.txt")).unwrap();
    write(&home, &root, &root.join("new.txt"), "new");
    let ids: Vec<String> =
        listed(&home).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 2);
    for id in ids {
        assert_eq!(undo(&home, &[&id]).status.code(), Some(0));
    }
    assert_eq!(fs::read_to_string(root.join("notes.txt")).unwrap(), "first line\nsecond line\n");
    assert!(!root.join("new.txt").exists());
}

#[test]
fn calls_that_read_or_do_not_run_leave_no_snapshot() {
    let home = TestHome::new();
    let root = project(&home);
    let read = json!({ "file_path": root.join("notes.txt") });
    assert_eq!(tell(&home, &root, "PreToolUse", "Read", &read), "nothing");
    let grave = json!({ "command": "rm -rf /srv/data" });
    assert_eq!(tell(&home, &root, "PreToolUse", "Bash", &grave), "deny");
    assert!(!home.folder.path().join("countersign-gateways/undo").exists());
    assert_eq!(text(&undo(&home, &[])), "Nothing to undo.\n");
}

#[test]
fn an_agent_cannot_destroy_or_use_the_snapshots_without_a_person() {
    let home = TestHome::new();
    let root = project(&home);
    for command in [
        "countersign undo prune --older-than 0",
        "countersign undo 3f9a01c2 --force",
        "rm -rf ~/.local/state/countersign-gateways/undo",
        "rm -rf ~/.local/state/countersign-gateways",
        "cat ~/.local/state/countersign-gateways/undo/objects/ab/cd",
        "mv ~/.local/state/countersign-gateways/undo /tmp/x",
    ] {
        let input = json!({ "command": command });
        assert_eq!(tell(&home, &root, "PreToolUse", "Bash", &input), "deny", "{command}");
    }
    let list = json!({ "command": "countersign undo list" });
    assert_eq!(tell(&home, &root, "PreToolUse", "Bash", &list), "nothing");
}

#[test]
fn snapshots_can_be_switched_off() {
    let home = TestHome::new();
    let root = project(&home);
    let config = home.folder.path().join(".config/countersign/countersign.toml");
    fs::write(config, "[undo]\nsnapshots = false\n").unwrap();
    write(&home, &root, &root.join("notes.txt"), "changed");
    assert!(listed(&home).is_empty());
}
