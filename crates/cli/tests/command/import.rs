//! `import` on logs in the formats of agents: figures, examples without secrets, saved calls.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::binary::{assert_refused, run, scratch, stdout};
use serde_json::{Value, json};

/// A home folder with logs of two agents.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let line = |id: u32, command: &str| {
        let input = json!({ "command": command });
        let id = format!("toolu_{id}");
        let block = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": input });
        json!({
            "type": "assistant", "sessionId": "s1", "cwd": "/home/ana/shop",
            "message": { "role": "assistant", "content": [block] },
        })
        .to_string()
    };
    let rejected = json!({
        "type": "user", "sessionId": "s1", "cwd": "/home/ana/shop",
        "message": { "content": [{
            "type": "tool_result", "tool_use_id": "toolu_4", "is_error": true,
            "content": "The user doesn't want to proceed with this tool use.",
        }] },
    });
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let secret = format!(
        "curl -H 'Authorization: Bearer {token}' -X DELETE https://api.github.com/repos/a/b"
    );
    let lines = [
        line(1, "ls"),
        line(2, "git push --force origin main"),
        line(3, "git push --force origin main"),
        line(4, "rm -rf /"),
        rejected.to_string(),
        line(5, &secret),
        line(6, "printf '\u{1b}[2J' && kubectl delete namespace shop"),
        "{ broken \"tool_use\"".to_owned(),
    ];
    write(".claude/projects/-home-ana-shop/s1.jsonl", lines.join("\n"));
    let call = |name: &str, arguments: Value| {
        json!({ "type": "response_item", "payload": { "type": "function_call", "name": name,
            "arguments": arguments.to_string(), "call_id": "c1" } })
        .to_string()
    };
    let meta =
        json!({ "type": "session_meta", "payload": { "id": "c1", "cwd": "/home/ana/shop" } });
    let shell = call("shell", json!({ "command": ["bash", "-lc", "cargo test"] }));
    write(".codex/sessions/2026/11/01/rollout-1.jsonl", format!("{meta}\n{shell}"));
    home
}

fn import(home: &Path, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.arg("import").args(words).env_clear().env("HOME", home);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_report_of_the_agents_own_folders() {
    let home = home();
    let text = import(home.path(), &["--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["calls"], 7);
    assert_eq!(report["sessions"], 2);
    let names: Vec<&str> = report["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|from| from["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Claude Code", "Codex CLI"]);
    assert_eq!(report["asked"]["total"], 5);
    assert_eq!(report["asked_with_answers"]["total"], 4);
    assert_eq!(report["asked_with_answers"]["session_max"], 4);
    assert_eq!(report["asked_with_answers"]["sessions_without"], 1);
    assert_eq!(report["rejected"], 1);
    assert_eq!(report["rejected_asked"], 1);
    assert_eq!(report["unreadable"], 1);
    assert_eq!(report["by_tier"]["CRITICAL"], 2);
    let words = import(home.path(), &[]);
    assert!(words.starts_with("7 calls in 2 sessions of the last 30 days\n"), "{words}");
    assert!(words.contains("1 × git push --force origin main"), "{words}");
    assert!(words.contains("4 (57.14 of 100 calls)"), "{words}");
}

#[test]
fn examples_have_no_secrets_and_cannot_draw() {
    let home = home();
    for words in [&["--all"][..], &["--all", "--json"]] {
        let text = import(home.path(), words);
        assert!(!text.contains("ghp_0123456789"), "{text}");
        assert!(text.contains("hidden"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn saved_calls_are_private_and_can_be_assessed_and_imported_again() {
    let home = home();
    let saved = home.path().join("calls.jsonl");
    import(home.path(), &["--save", saved.to_str().unwrap()]);
    assert_eq!(fs::metadata(&saved).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&saved).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 7);
    assert_eq!(rows[0]["project"], "/home/ana/shop");
    assert_eq!(rows[0]["host"], "claude-code");
    assert_eq!(rows[3]["decision"], "denied");
    let again = import(home.path(), &[saved.to_str().unwrap(), "--json"]);
    let report: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(report["asked_with_answers"]["total"], 4);
    assert_eq!(report["rejected"], 1);
    let output = run(&["import", "--save", saved.to_str().unwrap(), saved.to_str().unwrap()]);
    assert_refused(&output, "File exists");
}

#[test]
fn nothing_found_and_nothing_there() {
    let home = tempfile::tempdir().unwrap();
    assert!(
        import(home.path(), &[]).starts_with("No calls found in session logs of the last 30 days.")
    );
    let missing = scratch("missing.jsonl");
    assert_refused(&run(&["import", missing.to_str().unwrap()]), "No such file");
    let empty = scratch("empty.jsonl");
    fs::write(&empty, "").unwrap();
    let output = run(&["import", empty.to_str().unwrap()]);
    assert!(stdout(&output).starts_with("No calls found in session logs."));
}
