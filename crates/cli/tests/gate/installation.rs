//! `countersign` alone, `config` and `doctor`.

use super::fake_daemon::{FakeDaemon, countersign, stderr, stdout};

fn health() -> FakeDaemon {
    let health = r#"{"status":"ok","service":"countersign","pending":2}"#.to_owned();
    FakeDaemon::new(&[
        ("GET /health", 200, health),
        ("GET /ready", 200, r#"{"ready":true}"#.to_owned()),
    ])
}

#[test]
fn alone_it_says_what_is_going_on() {
    let daemon = health();
    let text = stdout(&daemon.run(&[]));
    assert!(text.contains("The daemon is running; 2 pending requests."), "{text}");
    assert!(text.contains("countersign pending"), "{text}");
    let output = countersign()
        .env("COUNTERSIGN_AGENTS", "127.0.0.1:1")
        .env("COUNTERSIGN_PEOPLE", "127.0.0.1:1")
        .output()
        .unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0));
    assert!(text.contains("No daemon answers") && text.contains("countersign serve"), "{text}");
}

#[test]
fn the_configuration_is_checked_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("countersign.toml");
    let name = file.to_str().unwrap();
    std::fs::write(&file, "mode = \"enforce\"\n").unwrap();
    let output = countersign().args(["config", "check", name]).output().unwrap();
    assert!(stdout(&output).contains("is valid"), "{}", stderr(&output));
    std::fs::write(&file, "[quorum]\nhihg = 2\n").unwrap();
    let output = countersign().args(["config", "check", name]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("hihg"), "{}", stdout(&output));
    let output = countersign().args(["config", "check", name, "--json"]).output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["ok"], false);
    let output = countersign().args(["config", "check", "/nonexistent/x.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let example = countersign().args(["config", "example"]).output().unwrap();
    std::fs::write(&file, example.stdout).unwrap();
    let output = countersign().args(["config", "check", name]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_doctor_is_honest() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let daemon = health();
    let args =
        ["doctor", "--state", state, "--agents", &daemon.address, "--people", &daemon.address];
    let output = countersign().args(args).output().unwrap();
    let text = stdout(&output);
    // Whoever runs the tests runs the stand-in too.
    assert!(text.starts_with("R0, same user: "), "{text}\n{}", stderr(&output));
    assert!(text.contains("The daemon answers; 2 pending."), "{text}");
    assert!(text.contains("Checkpoints stay on this machine"), "{text}");
    let output = countersign().args(args).arg("--json").output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["level"], "R0");
    let args = ["doctor", "--state", state, "--agents", "127.0.0.1:1", "--people", "127.0.0.1:1"];
    let output = countersign().args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("The daemon is not running"), "{}", stdout(&output));
}

#[test]
fn a_gate_that_only_observes_is_not_hidden() {
    let health = r#"{"status":"ok","service":"countersign","pending":0}"#;
    let ready = r#"{"ready":true,"mode":"observe","requested_mode":null}"#;
    let daemon = FakeDaemon::new(&[
        ("GET /health", 200, health.to_owned()),
        ("GET /ready", 200, ready.to_owned()),
    ]);
    let warning = "The mode is observe: risky calls run without a question";
    assert!(stdout(&daemon.run(&[])).contains(warning));
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let (agents, people) = (&daemon.address, &daemon.address);
    let args = ["doctor", "--state", state, "--agents", agents, "--people", people];
    let output = countersign().args(args).output().unwrap();
    assert!(stdout(&output).contains(&format!("bad  {warning}")), "{}", stdout(&output));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn an_authority_that_is_not_in_the_ledger_is_reported() {
    let health = r#"{"status":"ok","service":"countersign","pending":0}"#;
    let ready = r#"{"ready":true,"mode":"enforce","fleet_fault":"the authority was replaced"}"#;
    let daemon = FakeDaemon::new(&[
        ("GET /health", 200, health.to_owned()),
        ("GET /ready", 200, ready.to_owned()),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let (agents, people) = (&daemon.address, &daemon.address);
    let args = ["doctor", "--state", state, "--agents", agents, "--people", people];
    let output = countersign().args(args).output().unwrap();
    let said = "bad  Agents cannot delegate tasks: the authority was replaced.";
    assert!(stdout(&output).contains(said), "{}", stdout(&output));
    assert_eq!(output.status.code(), Some(1));
}
