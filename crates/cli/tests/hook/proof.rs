//! `countersign serve` tests the gates on a schedule and tells people if one does not block.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::agent_gates::{command, own};
use crate::fixture::{TestHome, until};

/// A home whose people are told through a program, into a file.
fn told_into_a_file() -> (TestHome, PathBuf) {
    let home = TestHome::empty();
    let (pager, told) = (home.folder.path().join("pager"), home.folder.path().join("told"));
    program(&pager, &format!("#!/bin/sh\ncat >>{}\n", told.display()));
    let config = home.folder.path().join(".config/countersign");
    fs::create_dir_all(&config).unwrap();
    // No one is spared at any hour.
    let text = format!(
        "[escalation]\nfirst = [\"pager\"]\n[quiet]\nfrom = \"00:00\"\nto = \"23:59\"\n\
         [channels.pager]\nkind = \"command\"\nprogram = [\"{}\"]\n",
        pager.display()
    );
    fs::write(config.join("countersign.toml"), text).unwrap();
    (home, told)
}

fn program(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(new, path).unwrap();
}

/// When the gates were last tested, as the metrics say.
fn tested(home: &TestHome) -> String {
    let metrics = home.as_person("GET", "/metrics", "");
    let line = metrics.lines().find(|line| line.starts_with("countersign_gates_tested_timestamp"));
    line.unwrap().to_owned()
}

#[test]
fn an_unprotected_agent_raises_one_alarm_and_its_end_is_reported() {
    let (mut home, told) = told_into_a_file();
    let own = own(&home);
    let installed = command(&home, own.clone(), &["install", "claude", "--yes"]).output().unwrap();
    assert!(installed.status.success(), "{installed:?}");
    home.start_with(&["--prove-every", "1"]);
    let counts = |line: &str| home.as_person("GET", "/metrics", "").contains(line);
    until("a protected agent", || counts("countersign_gates_protected 1\n"));
    assert!(counts("countersign_gates_unprotected 0\n") && !told.exists());

    let kept = own.with_extension("kept");
    fs::rename(&own, &kept).unwrap();
    program(&own, "#!/bin/sh\nprintf '{}'\n");
    let heard = || fs::read_to_string(&told).unwrap_or_default();
    until("the alarm", || heard().contains("Claude Code: NOT PROTECTED"));
    assert!(counts("countersign_gates_unprotected 1\n"));
    let inbox = home.as_person("GET", "/", "");
    assert!(inbox.contains("class=\"alarm\"") && inbox.contains("NOT PROTECTED"), "{inbox}");
    let socket = home.folder.path().join("state/agents.sock");
    let bare = home.command(&[]).env("COUNTERSIGN_AGENTS", socket).output().unwrap();
    let bare = String::from_utf8_lossy(&bare.stdout).into_owned();
    assert!(bare.contains("NOT PROTECTED") && bare.contains("The daemon is running"), "{bare}");
    // Again and again the same is no news.
    for number in 0..2 {
        let before = tested(&home);
        until(&format!("test {number} after the alarm"), || tested(&home) != before);
    }

    fs::rename(&kept, &own).unwrap();
    until("its end", || heard().contains("Claude Code: protected again"));
    assert_eq!(heard().matches("NOT PROTECTED").count(), 1, "{}", heard());
    assert!(counts("countersign_gates_unprotected 0\n"));
    assert!(!home.as_person("GET", "/", "").contains("class=\"alarm\""));
    let ledger = home.ledger_with("gate_protected");
    let opened = ledger.iter().filter(|line| line.contains("gate_unprotected")).count();
    assert_eq!(opened, 1, "{ledger:#?}");
    home.kill();
    let store = home.folder.path().join("state/countersign.db").display().to_string();
    let verified = home.command(&["ledger", "verify", "--store", &store]).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn where_no_agent_is_gated_nobody_is_told_anything() {
    let (mut home, told) = told_into_a_file();
    fs::create_dir(home.folder.path().join(".claude")).unwrap();
    home.start_with(&["--prove-every", "1"]);
    let never = "countersign_gates_tested_timestamp_seconds 0\n";
    until("a proof", || !home.as_person("GET", "/metrics", "").contains(never));
    let counts = home.as_person("GET", "/metrics", "");
    let nothing = ["countersign_gates_unprotected 0\n", "countersign_gates_untested 0\n"];
    assert!(nothing.iter().all(|line| counts.contains(line)) && !told.exists(), "{counts}");
}
