//! The real daemon: `serve`, used through the real commands.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use countersign_client::{Endpoint, PeopleClient};

use super::fake_daemon::{alone, countersign, home_with_key, stderr, stdout};

/// A daemon in its own directory.
pub struct Daemon {
    child: Child,
    /// The home of the user under test, who pins the daemon's key.
    home: tempfile::TempDir,
    line: serde_json::Value,
}

impl Daemon {
    /// In this state folder.
    pub fn start(state: &Path) -> Daemon {
        Daemon::with(state, &[])
    }

    /// With further words for `serve`.
    pub fn with(state: &Path, words: &[&str]) -> Daemon {
        let mut command = serve(state);
        let mut child =
            command.args(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let line = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        let key = std::fs::read_to_string(state.join("daemon.pub")).unwrap();
        Daemon { child, home: home_with_key(&key), line }
    }

    fn address(&self, endpoint: &str) -> String {
        self.line[endpoint].as_str().unwrap().to_owned()
    }

    /// A command at this daemon; the agent comes through the socket.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = countersign();
        command
            .args(args)
            .env("COUNTERSIGN_PEOPLE", self.address("people"))
            .env("COUNTERSIGN_AGENTS", format!("unix:{}", self.address("socket")))
            .env("HOME", self.home.path());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// The owner's token, by the passphrase of the first start.
    pub fn token(&self) -> String {
        let endpoint = Endpoint::parse(&self.address("people")).unwrap();
        PeopleClient::login(&endpoint, "owner", self.passphrase()).unwrap().token
    }

    /// The owner's passphrase, printed at the first start.
    pub fn passphrase(&self) -> &str {
        self.line["passphrase"].as_str().unwrap()
    }

    /// Starts to ask about a command.
    pub fn ask(&self, command: &str) -> Child {
        let mut asker = self.command(&["ask", "--command", command, "--timeout", "60"]);
        asker.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The two words of the only pending request.
    pub fn words(&self, token: &str) -> String {
        let end = Instant::now() + Duration::from_mins(2);
        while Instant::now() < end {
            let output =
                self.command(&["pending", "--json"]).env("COUNTERSIGN_TOKEN", token).output();
            let output = output.unwrap();
            let page: serde_json::Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
            if let Some(words) = page["requests"][0]["phrase"].as_str() {
                return words.to_owned();
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("no pending request");
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits for its end, and returns how it ended.
    fn ended(&mut self) -> Option<i32> {
        let end = Instant::now() + Duration::from_mins(2);
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not stop");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(state: &Path) -> Command {
    let mut command = countersign();
    command.args(["serve", "--json", "--print-passphrase"]);
    command.args(["--agents", "127.0.0.1:0", "--people", "127.0.0.1:0"]);
    command.arg("--state").arg(state).stdin(Stdio::null());
    command
}

#[test]
fn it_starts_tells_its_places_and_stops_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut daemon = Daemon::start(&state);
    let passphrase = daemon.line["passphrase"].as_str().unwrap();
    assert!(passphrase.len() > 20, "{passphrase}");
    assert_eq!(daemon.line["mode"], "enforce");
    assert_eq!(daemon.line["protection"], "R0");
    let text = stdout(&daemon.run(&[]));
    assert!(text.contains("The daemon is running; no pending requests."), "{text}");
    // Its memory must not be readable by others.
    let proc = format!("/proc/{}/limits", daemon.child.id());
    let limits = std::fs::read_to_string(proc).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert!(core.split_whitespace().nth(4) == Some("0"), "{core}");
    daemon.signal("-HUP");
    let text = stdout(&daemon.run(&[]));
    assert!(text.contains("The daemon is running; no pending requests."), "{text}");
    daemon.signal("-TERM");
    assert_eq!(daemon.ended(), Some(0));
    // The second start prints no passphrase.
    let again = Daemon::start(&state);
    assert!(again.line["passphrase"].is_null());
}

#[test]
fn a_harmless_call_passes_and_an_unanswered_one_is_not_approved() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&folder.path().join("state"));
    let output = daemon.run(&["ask", "--command", "git status"]);
    assert_eq!(stdout(&output), "approved by the rules\n", "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0));
    let output = daemon.run(&["ask", "--command", "rm -rf /srv", "--timeout", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("expired: "), "{}", stdout(&output));
    let text = stdout(&daemon.run(&[]));
    assert!(text.contains("no pending requests"), "{text}");
}

#[test]
fn the_agent_cannot_answer_itself() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&folder.path().join("state"));
    for token in ["csa_guess", "csp_guess", "x"] {
        let output = daemon.command(&["pending"]).env("COUNTERSIGN_TOKEN", token).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    }
}

#[test]
fn a_waiting_client_survives_a_killed_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut daemon = Daemon::start(&state);
    let asker = daemon
        .command(&["ask", "--command", "rm -rf /srv", "--timeout", "15"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_mins(2);
    while stdout(&daemon.run(&[])).contains("no pending requests") {
        assert!(Instant::now() < end, "the question does not arrive");
    }
    daemon.signal("-KILL");
    daemon.ended();
    let _again = Daemon::start(&state);
    let output = asker.wait_with_output().unwrap();
    assert!(stdout(&output).starts_with("expired: "), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let _daemon = Daemon::start(&state);
    let second = serve(&state).output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("another daemon"), "{}", stderr(&second));
    let bad = countersign().args(["serve", "--agents", "nowhere"]).output().unwrap();
    assert_eq!(bad.status.code(), Some(2));
    assert!(stderr(&bad).contains("--agents"), "{}", stderr(&bad));
}

#[test]
fn the_store_s_own_file_can_be_verified() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut daemon = Daemon::start(&state);
    daemon.run(&["ask", "--command", "git status"]);
    let store = daemon.address("store");
    daemon.signal("-TERM");
    assert_eq!(daemon.ended(), Some(0));
    let output = countersign().args(["ledger", "verify", "--store", &store]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("entries, all well formed"), "{}", stdout(&output));
}

#[test]
fn a_person_decides_and_the_agent_receives_it() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&folder.path().join("state"));
    let token = daemon.token();
    let person =
        |args: &[&str]| daemon.command(args).env("COUNTERSIGN_TOKEN", &token).output().unwrap();
    let asker = daemon.ask("rm -rf /srv/build");
    let words = daemon.words(&token);
    let shown = stdout(&person(&["show", &words]));
    assert!(shown.contains("rm -rf /srv/build") && shown.contains("pending; denied in"), "{shown}");
    let output = person(&["approve", &words, "--yes"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let heard = asker.wait_with_output().unwrap();
    assert_eq!(stdout(&heard), "approved by owner\n", "{}", stderr(&heard));
    assert_eq!(heard.status.code(), Some(0));
    let asker = daemon.ask("rm -rf /srv/other");
    let words = daemon.words(&token);
    let output = person(&["deny", &words, "--reason", "not today"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let heard = asker.wait_with_output().unwrap();
    assert_eq!(stdout(&heard), "denied by owner: not today\n", "{}", stderr(&heard));
    assert_eq!(heard.status.code(), Some(1));
    let history = stdout(&person(&["history"]));
    assert_eq!(history.lines().count(), 2, "{history}");
    let late = person(&["approve", &words, "--yes"]);
    assert_eq!(late.status.code(), Some(2), "{}", stdout(&late));
}

#[test]
fn administration_uses_a_persons_token() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&folder.path().join("state"));
    let token = daemon.token();
    let file = folder.path().join("passphrase");
    std::fs::write(&file, daemon.line["passphrase"].as_str().unwrap()).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, private).unwrap();
    let person = |args: &[&str]| {
        let mut command = daemon.command(args);
        command.arg("--passphrase-file").arg(&file).env("COUNTERSIGN_TOKEN", &token);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        stdout(&output)
    };
    // A token alone cannot change anything; the error says what to do.
    let mut unasked = daemon.command(&["people", "add", "eve"]);
    let refused = alone(unasked.env("COUNTERSIGN_TOKEN", &token)).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--passphrase-file"), "{}", stderr(&refused));
    assert!(person(&["people", "add", "ana"]).lines().next().unwrap().len() > 20);
    assert!(person(&["people", "list"]).contains("ana"));
    person(&["people", "role", "ana", "administrator"]);
    assert!(person(&["people", "sessions"]).contains("this one"));
    let state = folder.path().join("state");
    let issued = daemon.command(&["people", "recover", "ana", "--state"]).arg(&state).output();
    let issued = stdout(&issued.unwrap());
    let code = folder.path().join("code");
    std::fs::write(&code, issued.lines().next().unwrap()).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&code, private).unwrap();
    let used = daemon
        .command(&["people", "use-code", "ana", "--passphrase-file"])
        .arg(&code)
        .output()
        .unwrap();
    assert_eq!(used.status.code(), Some(0), "{}", stderr(&used));
    assert_eq!(stdout(&used).lines().next().unwrap().split('-').count(), 7);
    person(&["people", "revoke", "ana"]);
    assert!(person(&["agents", "add", "bot", "--days", "9"]).starts_with("csa_"));
    assert!(person(&["agents", "list"]).contains("bot"));
    person(&["agents", "revoke", "bot"]);
    let given = person(&["grants", "give", "write_file", "--minutes", "5"]);
    let id = given.trim().trim_start_matches("Given: ").to_owned();
    assert!(person(&["grants", "list"]).contains("every write_file call below HIGH"));
    person(&["grants", "revoke", &id]);
    let conditions = ["--where", "amount<=100", "--where", "currency=USD", "--where", "item~*"];
    let order = ["grants", "give", "mcp__shop__place_order", "--spend", "amount:USD:500"];
    person(&[&order[..], &conditions].concat());
    let listed = person(&["grants", "list"]);
    let words = "mcp__shop__place_order with amount at most 100, currency = USD, any item";
    assert!(listed.contains(words) && listed.contains("0 of 500 USD spent (amount)"), "{listed}");
    assert!(person(&["crises", "list"]).contains("No session"));
}

/// Runs a command and types each line once its question is on the screen. Returns the screen.
pub fn type_when_asked(mut command: Command, lines: &[(&str, &str)]) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut screen, mut part) = (Vec::new(), [0; 4096]);
    let mut lines = lines.iter().peekable();
    loop {
        let read = output.read(&mut part).unwrap();
        if read == 0 {
            break;
        }
        screen.extend_from_slice(&part[..read]);
        let shown = String::from_utf8_lossy(&screen).into_owned();
        if let Some((_, line)) = lines.next_if(|(question, _)| shown.contains(question)) {
            // The terminal stops echoing right after the question.
            std::thread::sleep(Duration::from_secs(1));
            writeln!(input, "{line}").unwrap();
        }
    }
    child.wait().unwrap();
    String::from_utf8(screen).unwrap()
}

#[test]
fn the_passphrase_is_not_echoed_and_enter_alone_does_not_approve() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&folder.path().join("state"));
    let asker = daemon.ask("rm -rf /srv/build");
    let token = daemon.token();
    let words = daemon.words(&token);
    let passphrase = daemon.line["passphrase"].as_str().unwrap();
    let typed = |answer: &str| {
        let line = format!("{} approve {words}", env!("CARGO_BIN_EXE_countersign"));
        // A separate terminal.
        let mut command = Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .env("COUNTERSIGN_PEOPLE", daemon.address("people"))
            .env("NO_COLOR", "1")
            .env_remove("COUNTERSIGN_TOKEN");
        type_when_asked(command, &[("Passphrase of owner", passphrase), ("[y/N]", answer)])
    };
    let screen = typed("");
    assert!(screen.contains("Passphrase of owner") && screen.contains("[y/N]"), "{screen}");
    assert!(screen.contains("Nothing was approved."), "{screen}");
    let after = screen.split("Passphrase of owner").nth(1).unwrap();
    assert!(!after.contains(passphrase), "the passphrase was echoed: {screen}");
    let screen = typed("y");
    assert!(screen.contains("approved by owner"), "{screen}");
    assert_eq!(asker.wait_with_output().unwrap().status.code(), Some(0));
}
