//! A call that runs first, through the installed hook and the real daemon: its snapshot, the review
//! of a person, and the files as they were.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use super::fixture::{HookOutput, TestHome, waiting};

fn home(settings: &str) -> (TestHome, PathBuf) {
    let mut home = TestHome::empty();
    let config = home.folder.path().join(".config/countersign");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("countersign.toml"), settings).unwrap();
    home.start();
    let root = home.folder.path().canonicalize().unwrap().join("shop");
    fs::create_dir_all(root.join(".git")).unwrap();
    for name in ["data.db", "other.db"] {
        fs::write(root.join(name), format!("{name} before\n")).unwrap();
    }
    (home, root)
}

/// What the hook says to an event; "nothing" lets the call run.
fn tell(home: &TestHome, root: &Path, name: &str, command: &str) -> String {
    let input = json!({ "command": command });
    let event = json!({
        "hook_event_name": name, "session_id": "s1", "cwd": root, "tool_name": "Bash",
        "tool_use_id": format!("{command}"), "tool_input": input, "permission_mode": "default",
        "tool_response": {},
    });
    let mut hook = home.command(&["hook", "claude", "--patience", "2"]);
    hook.current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = hook.spawn().unwrap();
    serde_json::to_writer(child.stdin.take().unwrap(), &event).unwrap();
    HookOutput::of(child).claude().0
}

/// What the people API answers, and its body.
fn person(home: &TestHome, method: &str, path: &str, body: &Value) -> (String, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = home.as_person(method, path, &body);
    let status = answer.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let json = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    (status, serde_json::from_str(json).unwrap_or_default())
}

fn open_reviews(home: &TestHome) -> Vec<Value> {
    let (_, listed) = person(home, "GET", "/v1/reviews", &Value::Null);
    listed["reviews"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_call_runs_first_and_a_person_rolls_it_back() {
    let (home, root) = home("[review]\nenabled = true\n");
    let data = root.join("data.db");
    assert_ne!(tell(&home, &root, "PreToolUse", "rm data.db"), "deny");
    fs::remove_file(&data).unwrap();
    assert_eq!(tell(&home, &root, "PostToolUse", "rm data.db"), "nothing");
    let open = open_reviews(&home);
    let [review] = open.as_slice() else { panic!("{open:?}") };
    assert_eq!(review["result_recorded"], true, "{review}");
    let id = review["id"].as_str().unwrap();
    let (_, shown) = person(&home, "GET", &format!("/v1/reviews/{id}"), &Value::Null);
    assert_eq!(shown["changes"][0]["change"], "deleted", "{shown}");
    let page = home.as_person("GET", "/reviews", "");
    assert!(page.contains("data.db before") && page.contains("Roll back"), "{page}");
    let decide = format!("/v1/reviews/{id}/decision");
    let (status, ended) = person(&home, "POST", &decide, &json!({ "choice": "roll_back" }));
    assert_eq!((status.as_str(), &ended["state"]), ("200", &json!("rolled_back")), "{ended}");
    assert_eq!(fs::read_to_string(&data).unwrap(), "data.db before\n");
    let (status, _) = person(&home, "POST", &decide, &json!({ "choice": "keep" }));
    assert_ne!(status, "200", "it has ended");
    // The agent's next call asks first.
    assert_eq!(tell(&home, &root, "PreToolUse", "rm other.db"), "deny");
    assert!(open_reviews(&home).is_empty());
}

#[test]
fn a_person_keeps_what_a_call_changed_and_the_snapshot_is_held_until_then() {
    let (home, root) = home("[review]\nenabled = true\n");
    assert_ne!(tell(&home, &root, "PreToolUse", "rm data.db"), "deny");
    fs::remove_file(root.join("data.db")).unwrap();
    assert_eq!(tell(&home, &root, "PostToolUse", "rm data.db"), "nothing");
    let pruned = home.command(&["undo", "prune", "--older-than", "0"]).output().unwrap();
    assert!(pruned.status.success());
    let open = open_reviews(&home);
    let id = open[0]["id"].as_str().unwrap().to_owned();
    let (_, shown) = person(&home, "GET", &format!("/v1/reviews/{id}"), &Value::Null);
    assert_eq!(
        (&shown["problem"], &shown["changes"][0]["change"]),
        (&Value::Null, &json!("deleted"))
    );
    let decide = format!("/v1/reviews/{id}/decision");
    let (_, ended) = person(&home, "POST", &decide, &json!({ "choice": "keep" }));
    assert_eq!((&ended["state"], &ended["person"]), (&json!("kept"), &json!("owner")), "{ended}");
    assert!(!root.join("data.db").exists());
}

#[test]
fn without_the_setting_or_the_key_a_person_is_asked_first() {
    let (home, root) = home("");
    assert_eq!(tell(&home, &root, "PreToolUse", "rm data.db"), "deny");
    assert_eq!(waiting(&home.person(), 1).len(), 1);

    let (home, root) = self::home("[review]\nenabled = true\n");
    fs::remove_file(home.folder.path().join("state/facts.key")).unwrap();
    assert_eq!(tell(&home, &root, "PreToolUse", "rm data.db"), "deny");
    assert!(open_reviews(&home).is_empty());
    // The snapshot for a call that did not run is not listed.
    let listed = home.command(&["undo", "--json"]).output().unwrap();
    assert_eq!(String::from_utf8(listed.stdout).unwrap().trim(), "[]");
}
