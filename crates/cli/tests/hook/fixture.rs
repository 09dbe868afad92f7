//! A daemon, a person, and the hook as a host runs it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use countersign_client::{
    DecisionAnswer, DecisionChoice, Endpoint, Filter, PeopleClient, RequestRecord, RequestStatus,
};
use serde_json::{Value, json};

/// A call that a person has to be asked about.
pub const RISKY: &str = "rm -rf /srv/data";

/// Only a hook that hangs takes so long: none of these tests gives one more than 30 seconds.
const HANG: Duration = Duration::from_mins(2);

/// A home with a daemon in it, or without.
pub struct TestHome {
    pub folder: tempfile::TempDir,
    daemon: Option<Child>,
    passphrase: String,
    people: String,
}

impl TestHome {
    /// No one is there.
    pub fn empty() -> TestHome {
        let folder = tempfile::tempdir().unwrap();
        TestHome { folder, daemon: None, passphrase: String::new(), people: String::new() }
    }

    /// With a daemon.
    pub fn new() -> TestHome {
        let mut home = TestHome::empty();
        home.start();
        home
    }

    /// No one is kept from asking by the limits for a flood.
    pub fn without_limits(&self) {
        let folder = self.folder.path().join(".config/countersign");
        std::fs::create_dir_all(&folder).unwrap();
        let most = 1_000_000;
        let text = format!(
            "[flood]\nopen_per_agent = {most}\nasks_per_minute = {most}\n\
             asks_per_hour = {most}\ndenials = {most}\n"
        );
        std::fs::write(folder.join("countersign.toml"), text).unwrap();
    }

    pub fn start(&mut self) {
        self.start_with(&[]);
    }

    /// With more words for `countersign serve`.
    pub fn start_with(&mut self, more: &[&str]) {
        let mut command = self.command(&["serve", "--json", "--print-passphrase"]);
        command.args(["--agents", "127.0.0.1:0"]).args(more);
        let people = if self.people.is_empty() { "127.0.0.1:0" } else { &self.people };
        command.args(["--people", people]).stdout(Stdio::piped()).stderr(Stdio::null());
        command.arg("--state").arg(self.folder.path().join("state"));
        let mut child = command.stdin(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        if let Some(passphrase) = told["passphrase"].as_str() {
            passphrase.clone_into(&mut self.passphrase);
        }
        told["people"].as_str().unwrap().clone_into(&mut self.people);
        self.daemon = Some(child);
        self.pin();
    }

    /// Pins the key of the first daemon of this home, which has its state in another folder.
    fn pin(&self) {
        let pinned = self.folder.path().join(".config/countersign/daemon.pub");
        if !pinned.exists() {
            std::fs::create_dir_all(pinned.parent().unwrap()).unwrap();
            std::fs::copy(self.folder.path().join("state/daemon.pub"), pinned).unwrap();
        }
    }

    /// Kills the daemon, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.daemon.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn command(&self, words: &[&str]) -> Command {
        // The hook as it is installed: the small program first.
        let mut command = Command::new(match words {
            ["hook", ..] => env!("CARGO_BIN_EXE_countersign-hook"),
            _ => env!("CARGO_BIN_EXE_countersign"),
        });
        command.args(words).env_clear().env("HOME", self.folder.path());
        command.env("COUNTERSIGN_STATE", self.folder.path().join("state"));
        command
    }

    /// The owner.
    pub fn person(&self) -> PeopleClient {
        let endpoint = Endpoint::parse(&self.people).unwrap();
        let login = PeopleClient::login(&endpoint, "owner", &self.passphrase).unwrap();
        PeopleClient::new(endpoint, login.token).confirmed_with(&self.passphrase)
    }

    /// The response of the people API to a decision of the owner.
    pub fn post_as_person(&self, path: &str, body: &Value) -> String {
        self.as_person("POST", &format!("/v1/requests/{path}"), &body.to_string())
    }

    /// What it answers to an owner.
    pub fn as_person(&self, method: &str, path: &str, body: &str) -> String {
        let token =
            PeopleClient::login(&Endpoint::parse(&self.people).unwrap(), "owner", &self.passphrase);
        let token = token.unwrap().token;
        let mut stream = std::net::TcpStream::connect(&self.people).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             X-Countersign-Step-Up: {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.people,
            countersign_daemon::auth::step_up_proof(&self.passphrase),
            body.len(),
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
        answer
    }

    /// The card of a request, as the inbox shows it.
    pub fn card(&self, id: &str) -> String {
        let login =
            PeopleClient::login(&Endpoint::parse(&self.people).unwrap(), "owner", &self.passphrase);
        let mut stream = std::net::TcpStream::connect(&self.people).unwrap();
        let head = format!(
            "GET /inbox/card/{id} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Connection: close\r\n\r\n",
            self.people,
            login.unwrap().token,
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    /// Waits until so many callers wait for the daemon's answer.
    pub fn callers_wait(&self, many: usize) {
        let line = format!("countersign_waiting_callers {many}\n");
        until(&line, || self.as_person("GET", "/metrics", "").contains(&line));
    }

    /// A hook that was given its input and runs.
    pub fn hook(&self, words: &[&str], input: &Value) -> Child {
        let mut command = self.command(&["hook"]);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A hook that is called wrongly ends without reading: what it says is what counts.
        let _ = child.stdin.take().unwrap().write_all(input.to_string().as_bytes());
        child
    }

    /// What a hook says to a call.
    pub fn says(&self, words: &[&str], input: &Value) -> HookOutput {
        HookOutput::of(self.hook(words, input))
    }

    /// The ledger's lines, once one of them holds this text.
    pub fn ledger_with(&self, text: &str) -> Vec<String> {
        let person = self.person();
        let end = Instant::now() + Duration::from_mins(2);
        loop {
            let entries = person.entries(0, 500).unwrap();
            let lines: Vec<String> = entries
                .entries
                .iter()
                .map(|entry| format!("{entry:?}").replace('\\', ""))
                .collect();
            if lines.iter().any(|line| line.contains(text)) {
                return lines;
            }
            assert!(Instant::now() < end, "{text} is not in the ledger: {lines:#?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a hook said.
#[derive(Debug)]
pub struct HookOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl HookOutput {
    /// Waits for its end. A hook that hangs is killed, and has said nothing.
    pub fn of(child: Child) -> HookOutput {
        let (id, (ended, end)) = (child.id().to_string(), mpsc::channel::<()>());
        let guard = std::thread::spawn(move || {
            if end.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
                let _ = Command::new("kill").args(["-KILL", &id]).status();
            }
        });
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        drop(ended);
        guard.join().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        HookOutput { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    /// The JSON that it said.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Claude's word for it: allow, deny, or nothing.
    pub fn claude(&self) -> (String, String) {
        if self.out == "{}" {
            assert_eq!(self.code, Some(0), "{self:?}");
            return ("nothing".to_owned(), String::new());
        }
        let said = self.json();
        let text = |name: &str| {
            let found = said["hookSpecificOutput"][name].as_str();
            found.unwrap_or_else(|| panic!("no {name}: {said}")).to_owned()
        };
        (text("permissionDecision"), text("permissionDecisionReason"))
    }

    /// That it said no, and how.
    pub fn denied(&self) -> String {
        let (decision, reason) = self.claude();
        assert_eq!(decision, "deny", "{self:?}");
        reason
    }
}

/// Claude's words before a shell command.
pub fn bash(command: &str, call: &str) -> Value {
    json!({
        "hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/srv", "tool_name": "Bash",
        "tool_use_id": call, "tool_input": { "command": command }, "permission_mode": "default",
    })
}

/// Waits for a condition.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(2);
    while !holds() {
        assert!(Instant::now() < end, "{what}: did not happen in time");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The requests that wait, once there are so many.
pub fn waiting(person: &PeopleClient, many: usize) -> Vec<RequestRecord> {
    let end = Instant::now() + Duration::from_mins(2);
    loop {
        let filter = Filter { state: Some(RequestStatus::Pending), ..Filter::default() };
        let page = person.list(&filter).unwrap();
        if page.requests.len() >= many {
            assert_eq!(page.requests.len(), many, "{:#?}", page.requests);
            return page.requests;
        }
        assert!(Instant::now() < end, "{} of {many} wait", page.requests.len());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Approves all of them.
pub fn approve(person: &PeopleClient, requests: &[RequestRecord]) {
    for request in requests {
        let id = request.id.as_deref().unwrap();
        let answer = DecisionAnswer::new(DecisionChoice::Approve, &request.digest);
        let (reason, word) = ("as planned", request.phrase.as_str());
        person.decide(id, &DecisionAnswer { reason, word, ..answer }).unwrap();
    }
}

/// A daemon that takes connections and never says a word.
pub fn deaf(folder: &Path) -> std::os::unix::net::UnixListener {
    let state = folder.join("state");
    std::fs::create_dir_all(&state).unwrap();
    std::os::unix::net::UnixListener::bind(state.join("agents.sock")).unwrap()
}
