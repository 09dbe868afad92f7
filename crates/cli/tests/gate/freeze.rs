//! `countersign freeze` and `countersign thaw` with the real daemon.

use std::process::Output;

use super::daemon::Daemon;
use super::fake_daemon::{stderr, stdout};

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn a_person_freezes_everything_and_thaws_it_in_two_stages() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&folder.path().join("state"));
    let token = daemon.token();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), daemon.passphrase()).unwrap();
    let file = file.path().to_str().unwrap();
    let person =
        |args: &[&str]| daemon.command(args).env("COUNTERSIGN_TOKEN", &token).output().unwrap();
    let proven = |args: &[&str]| person(&[args, &["--passphrase-file", file]].concat());
    let reads = || daemon.command(&["ask", "--command", "git status"]).output().unwrap();
    assert_eq!(code(&reads()), Some(0));

    let waits = daemon.ask("rm -rf /srv");
    daemon.words(&token);
    let frozen = person(&["freeze"]);
    assert_eq!(code(&frozen), Some(0), "{}", stderr(&frozen));
    assert!(stdout(&frozen).contains("countersign thaw people"), "{}", stdout(&frozen));
    let denied = waits.wait_with_output().unwrap();
    assert_eq!(code(&denied), Some(1), "{}", stdout(&denied));
    assert!(stdout(&denied).starts_with("denied"), "{}", stdout(&denied));
    let refused = reads();
    assert_ne!(code(&refused), Some(0));
    let told = stdout(&refused) + &stderr(&refused);
    assert!(told.contains("frozen by owner"), "{told}");
    let shown = person(&["freeze", "--json"]);
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!((&shown["stage"], &shown["by"]), (&"frozen".into(), &"owner".into()));

    // A session is enough to stop, and not to go on.
    let stolen = person(&["thaw", "people"]);
    assert_ne!(code(&stolen), Some(0), "{}", stdout(&stolen));
    assert_ne!(code(&reads()), Some(0));
    let early = proven(&["thaw", "grants"]);
    assert_ne!(code(&early), Some(0), "{}", stdout(&early));
    assert!(stderr(&early).contains("countersign thaw people"), "{}", stderr(&early));
    let thawed = proven(&["thaw", "people"]);
    assert_eq!(code(&thawed), Some(0), "{}", stderr(&thawed));
    assert!(stdout(&thawed).contains("countersign thaw grants"), "{}", stdout(&thawed));
    assert_eq!(code(&reads()), Some(0));
    let thawed = proven(&["thaw", "grants"]);
    assert_eq!(code(&thawed), Some(0), "{}", stderr(&thawed));
    assert!(stdout(&thawed).contains("Nothing is frozen"), "{}", stdout(&thawed));
}
