//! A fake daemon that answers by path, according to the documented API; and the binary.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use countersign_json::base64;
use countersign_json::canonical::Digest;
use countersign_ledger::response_signature::{SignedExchange, write_public_key};
use ed25519_dalek::{Signer as _, SigningKey};

/// The id of the request in the fake daemon's answers.
pub const ID: &str = "01hf3zq9x8y7w6v5t4s3r2q1p0";

/// The received requests, each as "METHOD path body".
pub type Heard = Arc<Mutex<Vec<String>>>;

/// The key with which the fake daemon signs; the binary under test pins it.
fn daemon_key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// A home folder that pins this text as the daemon's key.
pub fn home_with_key(text: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/countersign");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("daemon.pub"), text).unwrap();
    home
}

/// The signature of a response, from the head and the body of its request.
fn signature(head: &str, body: &str, status: u16, response: &str) -> String {
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_lowercase().starts_with(name));
        line.and_then(|line| line.split_once(": ")).map_or("", |(_, value)| value.trim())
    };
    let mut line = head.split(' ');
    let exchange = SignedExchange {
        nonce: header("countersign-nonce"),
        method: line.next().unwrap_or_default(),
        target: line.next().unwrap_or_default(),
        credential: header("authorization"),
        request: Digest::of(body.as_bytes()),
        status,
        response: Digest::of(response.as_bytes()),
    };
    base64::encode_url(&daemon_key().sign(exchange.signing_input().as_bytes()).to_bytes())
}

/// A fake daemon at its own address.
pub struct FakeDaemon {
    /// The home of the user under test.
    home: tempfile::TempDir,
    /// Where it listens.
    pub address: String,
    /// The received requests.
    pub heard: Heard,
}

impl FakeDaemon {
    /// Answers each "METHOD path" (without query) with a status and a body, without end.
    pub fn new(answers: &[(&str, u16, String)]) -> FakeDaemon {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heard = Heard::default();
        let log = Arc::clone(&heard);
        let answers: HashMap<String, (u16, String)> = answers
            .iter()
            .map(|(path, status, body)| ((*path).to_owned(), (*status, body.clone())))
            .collect();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut input = BufReader::new(stream);
                let (mut first, mut head) = (String::new(), String::new());
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if input.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                        break;
                    }
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                        length = value.trim().parse().unwrap();
                    }
                    head.push_str(&line);
                    if first.is_empty() {
                        first = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
                    }
                }
                let mut body = vec![0; length];
                input.read_exact(&mut body).unwrap();
                let body = String::from_utf8(body).unwrap();
                log.lock().unwrap().push(format!("{first} {body}"));
                let path = first.split('?').next().unwrap_or_default();
                let missing = (404, problem(404, "not-found", "there is no such thing"));
                let (status, text) = answers.get(path).cloned().unwrap_or(missing);
                let kind = match status {
                    200..300 => "application/json",
                    _ => "application/problem+json",
                };
                let signature = signature(&head, &body, status, &text);
                let _ = write!(
                    input.get_mut(),
                    "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
                     Countersign-Signature: {signature}\r\n\r\n{text}",
                    text.len()
                );
            }
        });
        let key = write_public_key(daemon_key().verifying_key().as_bytes());
        FakeDaemon { home: home_with_key(&key), address, heard }
    }

    /// Runs the binary against it, with a person's and an agent's token.
    pub fn run(&self, args: &[&str]) -> Output {
        let mut command = countersign();
        command
            .env("COUNTERSIGN_PEOPLE", &self.address)
            .env("COUNTERSIGN_AGENTS", &self.address)
            .env("COUNTERSIGN_TOKEN", "csp_test")
            .env("COUNTERSIGN_AGENT_TOKEN", "csa_test")
            .env("HOME", self.home.path());
        alone(command.args(args)).output().unwrap()
    }

    /// The same for a command that changes something, with a passphrase in a file.
    pub fn change(&self, args: &[&str]) -> Output {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "seven plain words").unwrap();
        let args: Vec<&str> = args
            .iter()
            .copied()
            .chain(["--passphrase-file", file.path().to_str().unwrap()])
            .collect();
        self.run(&args)
    }

    /// Whether a request was received that begins so.
    pub fn heard(&self, start: &str) -> Option<String> {
        self.heard.lock().unwrap().iter().find(|one| one.starts_with(start)).cloned()
    }
}

/// The built binary, away from the caller's own settings.
pub fn countersign() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    for name in ["PEOPLE", "AGENTS", "TOKEN", "AGENT_TOKEN", "CONFIG", "STATE"] {
        command.env_remove(format!("COUNTERSIGN_{name}"));
    }
    command.env("NO_COLOR", "1").env("HOME", "/nonexistent").env_remove("XDG_RUNTIME_DIR");
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME").stdin(Stdio::null());
    command
}

/// Without a terminal: nothing can be prompted.
pub fn alone(command: &mut Command) -> &mut Command {
    // `setsid` starts it in a new session, which has no terminal.
    let program = command.get_program().to_owned();
    let args: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let envs: Vec<_> =
        command.get_envs().map(|(k, v)| (k.to_owned(), v.map(ToOwned::to_owned))).collect();
    *command = Command::new("setsid");
    command.arg("--wait").arg(program).args(args).stdin(Stdio::null());
    for (name, value) in envs {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A problem document.
pub fn problem(status: u16, name: &str, detail: &str) -> String {
    serde_json::json!({
        "type": format!("urn:countersign:problem:{name}"), "title": "t", "status": status,
        "detail": detail, "outcome": "none", "error": detail,
    })
    .to_string()
}

/// A request document, with a card of a real call.
pub fn document(state: &str, tier: &str) -> serde_json::Value {
    let output = countersign().args(["assess", "rm -rf /srv", "--json"]).output().unwrap();
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let time = "2026-11-14T23:59:59.999Z";
    let decision = (state != "pending").then(|| {
        serde_json::json!({
            "result": state, "by": { "kind": "people", "people": ["ana"] },
            "channel": "terminal", "reason": "as agreed", "at": time,
        })
    });
    serde_json::json!({
        "id": ID, "state": state, "decision": decision, "tool": "bash",
        "brief": "Deletes everything in /srv.", "tier": tier, "points": record["points"],
        "risk": record["risk"], "confidence": record["confidence"], "phrase": record["phrase"],
        "digest": record["digest"], "raw_digest": record["raw_digest"], "both_bind": false,
        "agent": "hermes\u{1b}[2J", "session": "s1", "group": null, "crisis": false,
        "created": time, "deadline": time, "level": "first",
        "quorum": { "approve": 1, "deny": 1 }, "approvals": 0, "permit": null,
        "permit_until": null, "edited_arguments": null, "observed": false,
        "description": "please \u{202e}now",
    })
}

/// A page with these requests.
pub fn list(requests: &[serde_json::Value]) -> String {
    serde_json::json!({ "requests": requests, "next": null }).to_string()
}
