//! `countersign login`: the token is in a private file and nowhere else, and only a person's
//! terminal uses it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use super::daemon::{Daemon, type_when_asked};
use super::fake_daemon::{alone, stderr, stdout};

/// Runs a command in a terminal of its own.
fn in_terminal(daemon: &Daemon, args: &str) -> String {
    let line = format!("{} {args}", env!("CARGO_BIN_EXE_countersign"));
    let mut command = Command::new("script");
    let plain = daemon.command(&[]);
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.args(["-qec", &line, "/dev/null"]).env_remove("COUNTERSIGN_TOKEN");
    type_when_asked(command, &[("Passphrase of", "")])
}

fn login(daemon: &Daemon, file: &Path, more: &[&str]) -> Output {
    let mut command = daemon.command(&["login", "--passphrase-file"]);
    command.arg(file).args(more).env_remove("COUNTERSIGN_TOKEN").output().unwrap()
}

#[test]
fn a_login_is_saved_privately_never_printed_and_used_in_a_terminal_only() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&folder.path().join("state"));
    let passphrase = folder.path().join("passphrase");
    fs::write(&passphrase, daemon.passphrase()).unwrap();
    fs::set_permissions(&passphrase, fs::Permissions::from_mode(0o600)).unwrap();
    let done = login(&daemon, &passphrase, &[]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let json = login(&daemon, &passphrase, &["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let file = Path::new(json["token_file"].as_str().unwrap()).to_owned();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let saved: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let token = saved["token"].as_str().unwrap();
    for printed in [stdout(&done), stderr(&done), json.to_string()] {
        assert!(!printed.contains(token) && !printed.contains("export"), "{printed}");
    }
    // A person's terminal uses it; a program without a terminal does not.
    assert!(in_terminal(&daemon, "pending").contains("No pending requests"), "not logged in");
    let mut unasked = daemon.command(&["pending"]);
    let refused = alone(unasked.env_remove("COUNTERSIGN_TOKEN")).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
    assert!(stderr(&refused).contains("authentication required"), "{}", stderr(&refused));
    // Another person's name, or a file that others can read: the login does not count.
    assert!(in_terminal(&daemon, "pending --as ana").contains("Passphrase of ana"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(in_terminal(&daemon, "pending").contains("Passphrase of owner"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let checks = stdout(&daemon.command(&["doctor"]).output().unwrap());
    assert!(checks.contains("owner is logged in here"), "{checks}");
    let token = token.to_owned();
    let ended = daemon.command(&["logout"]).output().unwrap();
    assert_eq!(stdout(&ended), "Logged out owner.\n", "{}", stderr(&ended));
    assert!(!file.exists());
    let mut late = daemon.command(&["pending"]);
    let late = late.env("COUNTERSIGN_TOKEN", token).output().unwrap();
    assert_eq!(late.status.code(), Some(2), "the session has ended: {}", stdout(&late));
}
