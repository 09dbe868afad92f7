//! The first passphrase goes to a terminal, and to nothing that keeps what it is given.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use countersign_client::{AgentClient, Endpoint, PeopleClient};
use serde_json::Value;

use super::fake_daemon::{countersign, stderr, stdout};

fn serve(state: &Path, words: &[&str]) -> Command {
    let mut command = countersign();
    command.args(["serve", "--agents", "127.0.0.1:0", "--people", "127.0.0.1:0", "--state"]);
    command.arg(state).args(words).stderr(Stdio::piped());
    command
}

fn stop(mut child: Child) -> String {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    child.wait().unwrap();
    log
}

#[test]
fn a_pipe_gets_no_passphrase_and_no_call_is_approved_without_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut child = serve(&state, &["--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    assert!(line["passphrase"].is_null(), "{line}");
    let agents = Endpoint::parse(line["agents"].as_str().unwrap()).unwrap();
    let unready = AgentClient::new(agents, None).ready().unwrap_err().to_string();
    assert!(unready.contains("no person"), "{unready}");
    assert!(stop(child).contains("service first-passphrase"));
    // The person is created later, on a terminal, and never without one.
    let words = ["service", "first-passphrase", "--state", state.to_str().unwrap()];
    let refused = countersign().args(words).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("on a terminal only"), "{}", stderr(&refused));
    let binary = env!("CARGO_BIN_EXE_countersign");
    let on_terminal = || {
        let command = format!("{binary} {}", words.join(" "));
        let mut script = Command::new("script");
        let output = script.args(["-qec", &command, "/dev/null"]).env("NO_COLOR", "1").output();
        stdout(&output.unwrap())
    };
    let screen = on_terminal();
    let passphrase = screen.lines().find_map(|line| line.strip_prefix("    "));
    let passphrase = passphrase.unwrap_or_else(|| panic!("{screen}")).trim().to_owned();
    assert!(on_terminal().contains("there is a person already"));
    let mut child = serve(&state, &["--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    let people = Endpoint::parse(line["people"].as_str().unwrap()).unwrap();
    PeopleClient::login(&people, "owner", &passphrase).unwrap();
    let screen = on_terminal();
    assert!(screen.contains("stop the daemon first"), "{screen}");
    let health = || {
        let mut command = countersign();
        command.args(["service", "health"]).env("COUNTERSIGN_STATE", &state);
        command.output().unwrap().status.code()
    };
    assert_eq!(health(), Some(0));
    stop(child);
    assert_eq!(health(), Some(1));
}

#[test]
fn a_journal_gets_no_passphrase_even_if_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(folder.path().join("journal"))
        .unwrap();
    let about = journal.metadata().unwrap();
    let mut command = serve(&folder.path().join("state"), &["--print-passphrase"]);
    command.env("JOURNAL_STREAM", format!("{}:{}", about.dev(), about.ino()));
    let child = command.stdout(journal.try_clone().unwrap()).spawn().unwrap();
    let end = Instant::now() + Duration::from_mins(1);
    let mut text = String::new();
    while !text.contains("No person can approve") {
        assert!(Instant::now() < end, "{text}");
        std::thread::sleep(Duration::from_millis(50));
        journal.rewind().unwrap();
        text.clear();
        journal.read_to_string(&mut text).unwrap();
    }
    stop(child);
    assert!(!text.contains("passphrase of `owner`"), "{text}");
}
