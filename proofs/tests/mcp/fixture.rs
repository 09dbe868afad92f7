//! Shared by the proofs of the proxy: a client's end of it, its server's log, and people's
//! decisions.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use proofs::http::{Client, Reply};
use proofs::installation::{RunningDaemon, TestInstallation, UNLIMITED};
use serde_json::{Value, json};
use tempfile::TempDir;

static MACHINE: RwLock<()> = RwLock::new(());

/// For a proof that measures: no other proof of this program runs at the same time.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// For a proof that mostly waits: others run at the same time, each with its own folder and ports.
pub fn shared() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Prints figures even if the test passes.
pub fn report_figures(text: &str) {
    let _ = writeln!(std::io::stderr(), "    proof: {text}");
}

/// A daemon with its owner and an agent, and a folder for the proxy.
pub struct ProxyFixture {
    pub folder: TempDir,
    pub gate: Option<RunningDaemon>,
    pub owner: String,
    pub agent: String,
    pub agents: String,
    people: std::net::SocketAddr,
    passphrase: String,
}

/// The tools of the fake server by default.
pub const TOOLS: &str = r#"[
    {"name": "read_file", "description": "Reads a file.", "inputSchema": {"type": "object"}},
    {"name": "send_email", "description": "Sends.", "inputSchema": {"type": "object"}},
    {"name": "delete_file", "description": "Deletes.", "inputSchema": {"type": "object"}},
    {"name": "steps", "inputSchema": {"type": "object"}},
    {"name": "fails", "inputSchema": {"type": "object"}},
    {"name": "never", "inputSchema": {"type": "object"}},
    {"name": "crash", "inputSchema": {"type": "object"}}
]"#;

impl ProxyFixture {
    pub fn new() -> ProxyFixture {
        let folder = tempfile::tempdir().unwrap();
        let installation =
            TestInstallation::new(&folder.path().join("installation"), UNLIMITED).unwrap();
        let gate = installation.start().unwrap();
        let owner = gate.owner().unwrap();
        let agent = gate.agent(&owner, "coder").unwrap();
        let (agents, people) = (gate.agents.to_string(), gate.people);
        fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
        let passphrase = gate.passphrase.clone().unwrap();
        ProxyFixture { folder, gate: Some(gate), owner, agent, agents, people, passphrase }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The words that start a proxy before a server; `patience` in milliseconds.
    pub fn proxy_words(&self, patience: Option<u64>) -> Vec<String> {
        let patience = patience.map_or("-".to_owned(), |ms| ms.to_string());
        let state = self.path("state").display().to_string();
        let proxy = env!("CARGO_BIN_EXE_proxy").to_owned();
        let key = self.path("installation/state/daemon.pub").display().to_string();
        let (agents, agent) = (self.agents.clone(), self.agent.clone());
        vec![proxy, agents, agent, key, state, "files".to_owned(), patience]
    }

    /// A proxy before the stand-in server.
    pub fn proxy(&self, patience: Option<u64>, further: &[(&str, &str)]) -> Wire {
        let mut words = self.proxy_words(patience);
        words.extend(["python3".to_owned(), server().display().to_string()]);
        self.start(&words, further)
    }

    pub fn start(&self, words: &[String], further: &[(&str, &str)]) -> Wire {
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env("LOG", self.path("log"))
            .env("TOOLS", self.path("tools.json"));
        command.envs(further.iter().copied());
        Wire::open(command)
    }

    /// What the server was given, byte for byte.
    pub fn log(&self) -> String {
        String::from_utf8(fs::read(self.path("log")).unwrap_or_default()).unwrap()
    }

    /// Whether the server was given a call of this tool.
    pub fn reached(&self, tool: &str) -> bool {
        let call = format!("\"name\":\"{tool}\"");
        self.log().lines().any(|line| line.contains("tools/call") && line.contains(&call))
    }

    pub fn person(&self) -> Client {
        Client::with(self.people, &self.owner).confirmed(&self.passphrase)
    }

    /// What waits, once there are so many.
    pub fn waiting(&self, count: usize) -> Vec<Value> {
        let end = Instant::now() + Duration::from_mins(1);
        let mut person = self.person();
        loop {
            let reply = person.get("/v1/requests?state=pending&limit=200").unwrap();
            let found = reply.body["requests"].as_array().cloned().unwrap_or_default();
            if found.len() >= count.min(200) {
                return found;
            }
            assert!(Instant::now() < end, "{} of {count} wait", found.len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Answers the one request that waits.
    pub fn answer(&self, yes: bool) -> Value {
        let request = self.waiting(1).remove(0);
        let reply = self.decide(&request, yes, None);
        assert_eq!(reply.status, 200, "{}", reply.body);
        request
    }

    pub fn decide(&self, request: &Value, yes: bool, edited: Option<Value>) -> Reply {
        let choice = if yes { "approve" } else { "deny" };
        let mut said = json!({
            "choice": choice, "digest": request["digest"], "reason": "as planned",
            "word": request["phrase"],
        });
        let id = request["id"].as_str().unwrap();
        if let Some(edited) = edited {
            let body = json!({ "digest": request["digest"], "edited_arguments": edited });
            let checked = self.person().post(&format!("/v1/requests/{id}/edit"), &body).unwrap();
            said["edited_arguments"] = edited;
            said["edited_digest"] = checked.body["digest"].clone();
            said["word"] = checked.body["phrase"].clone();
        }
        self.person().post(&format!("/v1/requests/{id}/decision"), &said).unwrap()
    }

    /// How many callers wait for the daemon's answer, as its metrics say.
    pub fn waiting_callers(&self) -> usize {
        let mut stream = TcpStream::connect(self.people).unwrap();
        let head = format!(
            "GET /metrics HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             connection: close\r\n\r\n",
            self.people, self.owner
        );
        stream.write_all(head.as_bytes()).unwrap();
        let text = std::io::read_to_string(stream).unwrap();
        let found = text.lines().find_map(|line| line.strip_prefix("countersign_waiting_callers "));
        found.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
    }

    /// One request as people see it.
    pub fn request(&self, id: &Value) -> Value {
        self.person().get(&format!("/v1/requests/{}", id.as_str().unwrap())).unwrap().body
    }
}

fn server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py")
}

/// Waits for a condition.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(2);
    while !holds() {
        assert!(Instant::now() < end, "{what}: did not happen in time");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A client's end.
pub struct Wire {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Wire {
    pub fn open(mut command: Command) -> Wire {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let out = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(out).split(b'\n').map_while(Result::ok) {
                let _ = sender.send(String::from_utf8(line).unwrap());
            }
        });
        let input = child.stdin.take();
        Wire { child, input, lines }
    }

    pub fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    /// The next line, or nothing within a time.
    pub fn within(&self, time: Duration) -> Option<String> {
        self.lines.recv_timeout(time).ok()
    }

    pub fn line(&self) -> String {
        self.within(Duration::from_secs(30)).expect("no line came")
    }

    pub fn next(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// The legacy opening and the list of tools.
    pub fn greet(&mut self) {
        self.greet_as("a client");
        self.send(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
        assert_eq!(self.next()["id"], "list");
    }

    pub fn greet_as(&mut self, name: &str) {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name},
        });
        self.ask("hello", "initialize", &params);
        assert_eq!(self.next()["id"], "hello");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    pub fn ask(&mut self, id: impl Into<Value>, method: &str, params: &Value) {
        let id: Value = id.into();
        self.send(&json!({"jsonrpc":"2.0","id":id,"method":method,"params":params}).to_string());
    }

    pub fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: &Value) {
        self.ask(id, "tools/call", &json!({"name": tool, "arguments": arguments}));
    }

    /// Hangs up; the exit code.
    pub fn end(mut self) -> i32 {
        drop(self.input.take());
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The words of a tool's result.
pub fn words(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// A modern request's `_meta`.
pub fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
