//! A daemon with a fleet's authority, and nodes that peers send tasks to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_a2a::{AgentUrl, FleetFiles, RemoteAgent};
use countersign_client::Endpoint;
use countersign_json::base64;
use countersign_tls::rustls::pki_types::ServerName;
use countersign_tls::rustls::{ClientConfig, ClientConnection, StreamOwned};
use countersign_tls::{fleet_client_config, generate_key, issue_text, sign_with_key};
use proofs::http::{Client, request};
use proofs::installation::{RunningDaemon, TestInstallation, UNLIMITED, binary};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take before a test gives up.
pub const HANG: Duration = Duration::from_mins(1);

/// A program that repeats the text of its task.
pub const ECHO: &str = "import json,sys; t=json.load(sys.stdin); \
                        print(json.dumps({'text':'analysis:'+t['task'],'chain':t['chain']}))";

/// A daemon with an authority and the agent `node`.
pub struct Fleet {
    pub folder: TempDir,
    installation: TestInstallation,
    pub daemon: RunningDaemon,
    pub owner: String,
    token: String,
}

impl Fleet {
    pub fn start() -> Fleet {
        Fleet::with(UNLIMITED)
    }

    /// With these settings of the daemon.
    pub fn with(settings: &str) -> Fleet {
        Fleet::with_mode("enforce", settings)
    }

    /// In this mode, with these settings of the daemon.
    pub fn with_mode(mode: &str, settings: &str) -> Fleet {
        Fleet::in_folder(tempfile::tempdir().unwrap(), mode, settings, &[])
    }

    /// With a daemon whose clock is off by the seconds in the file `clock` of its folder.
    pub fn with_clock(seconds: i64) -> Fleet {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gate/clock.c");
        let (library, offset) = (folder.path().join("clock.so"), folder.path().join("clock"));
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .status();
        assert!(built.unwrap().success());
        std::fs::write(&offset, seconds.to_ne_bytes()).unwrap();
        let variables = [
            ("LD_PRELOAD", library.display().to_string()),
            ("PROOF_CLOCK", offset.display().to_string()),
        ];
        Fleet::in_folder(folder, "enforce", UNLIMITED, &variables)
    }

    fn in_folder(
        folder: TempDir,
        mode: &str,
        settings: &str,
        variables: &[(&str, String)],
    ) -> Fleet {
        let mut installation = TestInstallation::new(folder.path(), settings).unwrap();
        for (name, value) in variables {
            installation = installation.variable(name, value);
        }
        let file = folder.path().join("countersign.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("mode = \"{mode}\"\n{text}")).unwrap();
        let daemon = installation.start().unwrap();
        let owner = daemon.owner().unwrap();
        let token = daemon.agent(&owner, "node").unwrap();
        let fleet = Fleet { folder, installation, daemon, owner, token };
        assert_eq!(fleet.change("/v1/pki", &json!({})).0, 201);
        fleet
    }

    /// A change by the owner.
    pub fn change(&self, path: &str, body: &Value) -> (u16, Value) {
        let passphrase = self.daemon.passphrase.as_deref().unwrap();
        let mut people = Client::with(self.daemon.people, &self.owner).confirmed(passphrase);
        let reply = people.post(path, body).unwrap();
        (reply.status, reply.body)
    }

    /// Kills the daemon (SIGKILL).
    pub fn kill_daemon(&mut self) {
        let id = self.daemon.id().to_string();
        assert!(Command::new("kill").args(["-KILL", &id]).status().unwrap().success());
        until("the end of the daemon", || (!self.daemon.is_alive()).then_some(()));
    }

    /// Starts the daemon again with the same files.
    pub fn start_daemon(&mut self) {
        let passphrase = self.daemon.passphrase.take();
        self.daemon = self.installation.start().unwrap();
        self.daemon.passphrase = passphrase;
        self.owner = self.daemon.owner().unwrap();
    }

    /// The socket of the agent API: the same after each start of the daemon.
    pub fn socket(&self) -> String {
        format!("unix:{}", self.folder.path().join("run/agents.sock").display())
    }

    /// A page of the inbox, for the owner.
    pub fn page(&self, path: &str) -> String {
        let close = [("connection", "close")];
        let asked = request(self.daemon.people, Some(&self.owner), ("GET", path), &close, None);
        let mut stream = TcpStream::connect(self.daemon.people).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        stream.write_all(asked.as_bytes()).unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    /// The token of the agent `node`.
    pub fn daemon_token(&self) -> &str {
        &self.token
    }

    pub fn pki(&self) -> PathBuf {
        self.folder.path().join("pki")
    }

    pub fn authority(&self) -> Endpoint {
        Endpoint::parse(&self.daemon.agents.to_string()).unwrap()
    }

    /// The files of an agent, with a new certificate.
    pub fn issue(&self, agent: &str) -> FleetFiles {
        let files = FleetFiles::in_folder(&self.pki(), agent);
        let key = generate_key().unwrap();
        files.keep_key(&key).unwrap();
        let (public, proof) = sign_with_key(&key, |public| issue_text(agent, public)).unwrap();
        let (status, made) = self.change(
            "/v1/pki/certificates",
            &json!({
                "agent": agent, "hosts": ["127.0.0.1", "localhost"],
                "public_key": base64::encode(public.as_bytes()), "proof": base64::encode(&proof),
            }),
        );
        assert_eq!(status, 201, "{made}");
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        files.keep(&text("certificate"), &text("authority")).unwrap();
        files
    }

    /// A node named `bob` that runs tasks with this Python program.
    pub fn node(&self, script: &str, settings: &Value) -> RunningNode {
        if !self.pki().join("agents/bob/bob.crt").exists() {
            self.issue("bob");
        }
        let file = self.folder.path().join("tasks.db");
        let mut all = json!({
            "agents": self.daemon.agents.to_string(), "token": self.token, "name": "bob",
            "daemon_key": self.folder.path().join("state/daemon.pub"), "pki": self.pki(),
            "tasks": file, "command": ["python3", "-c", script],
        });
        for (name, value) in settings.as_object().unwrap() {
            all[name] = value.clone();
        }
        let program = binary().unwrap().with_file_name("node");
        let mut child = Command::new(program)
            .arg(all.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().parse().unwrap();
        RunningNode { child, address }
    }

    /// The configuration of a client with these files.
    pub fn client_config(&self, files: &FleetFiles) -> Arc<ClientConfig> {
        let trust = files.trust().unwrap();
        files.refresh(&trust, &self.authority()).unwrap();
        let (certificate, key) = (files.own_certificate().unwrap(), files.own_key().unwrap());
        fleet_client_config(&certificate, &key, trust, None).unwrap()
    }

    /// A client of a node.
    pub fn peer(&self, files: &FleetFiles, node: &RunningNode) -> RemoteAgent {
        RemoteAgent::new(node.url(), self.client_config(files))
    }

    /// The pending requests.
    pub fn pending(&self) -> Vec<Value> {
        let mut people = Client::with(self.daemon.people, &self.owner);
        let reply = people.get("/v1/requests?state=pending&limit=200").unwrap();
        reply.body["requests"].as_array().cloned().unwrap_or_default()
    }

    /// Waits for a pending request about a text.
    pub fn asked_about(&self, text: &str) -> Value {
        let mut people = Client::with(self.daemon.people, &self.owner);
        until("the question", || {
            self.pending().into_iter().find_map(|request| {
                let id = request["id"].as_str()?;
                let whole = people.get(&format!("/v1/requests/{id}")).unwrap().body;
                whole["card"].to_string().contains(text).then_some(whole)
            })
        })
    }

    /// A request as it is now.
    pub fn request(&self, request: &Value) -> Value {
        let path = format!("/v1/requests/{}", request["id"].as_str().unwrap());
        Client::with(self.daemon.people, &self.owner).get(&path).unwrap().body
    }

    /// Decides a request.
    pub fn decide(&self, request: &Value, choice: &str) -> (u16, Value) {
        let path = format!("/v1/requests/{}/decision", request["id"].as_str().unwrap());
        self.change(
            &path,
            &json!({ "choice": choice, "reason": "because", "digest": request["digest"] }),
        )
    }

    /// Approves a request with other arguments, as a person who checked them.
    pub fn approve_edited(&self, request: &Value, edited: &Value) {
        let path = format!("/v1/requests/{}", request["id"].as_str().unwrap());
        let mut body = json!({ "digest": request["digest"], "edited_arguments": edited });
        let (status, checked) = self.change(&format!("{path}/edit"), &body);
        assert_eq!(status, 200, "{checked}");
        body["choice"] = json!("approve");
        body["reason"] = json!("because");
        body["edited_digest"] = checked["digest"].clone();
        let (status, said) = self.change(&format!("{path}/decision"), &body);
        assert_eq!(status, 200, "{said}");
    }

    /// Approves the question about a text.
    pub fn approve(&self, text: &str) {
        let (status, body) = self.decide(&self.asked_about(text), "approve");
        assert_eq!(status, 200, "{body}");
    }
}

/// A running node. Dropping it kills it.
pub struct RunningNode {
    pub child: Child,
    pub address: SocketAddr,
}

impl RunningNode {
    pub fn url(&self) -> AgentUrl {
        AgentUrl::parse(&format!("https://{}", self.address)).unwrap()
    }

    /// A connection to it.
    pub fn connect(&self, config: &Arc<ClientConfig>) -> StreamOwned<ClientConnection, TcpStream> {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(HANG)).unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let session = ClientConnection::new(Arc::clone(config), name).unwrap();
        StreamOwned::new(session, socket)
    }
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request over a connection and reads what comes back.
pub fn raw(
    stream: &mut StreamOwned<ClientConnection, TcpStream>,
    method_and_path: &str,
    body: &str,
) -> std::io::Result<String> {
    let text = format!(
        "{method_and_path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes())?;
    stream.flush()?;
    let mut bytes = Vec::new();
    let mut room = [0; 4096];
    loop {
        let count = stream.read(&mut room)?;
        bytes.extend_from_slice(&room[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length = head.to_ascii_lowercase();
            let length = length.split("content-length: ").nth(1).map(str::to_owned);
            let length = length.and_then(|rest| rest.lines().next()?.trim().parse::<usize>().ok());
            length.is_some_and(|length| body.len() >= length)
        });
        // The last chunk of a stream.
        let is_over = whole || text.ends_with("\r\n0\r\n\r\n");
        if is_over || count == 0 {
            return Ok(text);
        }
    }
}

/// Tries until there is a result.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + HANG;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The state of a task.
pub fn state(task: &Value) -> &str {
    task.pointer("/status/state").and_then(Value::as_str).unwrap_or_default()
}

/// Whether a file has this many lines.
pub fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}
