//! For tests: a whole daemon in a temporary folder, and requests to its APIs.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use countersign_json::canonical::Digest;
use countersign_store::{Role, Store as _, StoredAgent, StoredLogin, StoredPerson, WriteContext};
use countersign_types::time::{Clock as _, Millis, Timestamp};
use serde_json::Value;
use tower_service::Service as _;

use crate::api::Api;
use crate::api::session_key::test_browser::TestBrowser;
use crate::config::{DaemonConfig, Paths};
use crate::gate::Gate;
use crate::listeners::Peer;
use crate::notifier::test_notifier::until;
use crate::routes::{self, AgentApi};
use crate::start::Daemon;

/// Which API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiSide {
    Agents,
    People,
}

/// What came back.
#[derive(Debug)]
pub struct TestReply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
    pub text: Vec<u8>,
}

pub use crate::auth::step_up_proof;

pub struct TestDaemon {
    folder: tempfile::TempDir,
    daemon: Daemon,
    pub api: Api,
    pub gate: Arc<Gate>,
    pub passphrase: String,
    agents: (AgentApi, u16),
    people: (Router, u16),
}

const LISTEN: &str = "agents = \"127.0.0.1:0\"\npeople = \"127.0.0.1:0\"\nsocket = \"\"\n\
                     hosts = [\"approve.example.org\"]\n";

impl TestDaemon {
    /// With the usual rules.
    pub async fn default() -> TestDaemon {
        TestDaemon::with("", "").await
    }

    /// With further lines for the listeners, and further sections.
    pub async fn with(listen: &str, sections: &str) -> TestDaemon {
        let folder = tempfile::tempdir().unwrap();
        Box::pin(TestDaemon::open(folder, listen, sections, None)).await
    }

    /// Without any person.
    pub async fn new_without_owner() -> TestDaemon {
        let folder = tempfile::tempdir().unwrap();
        Box::pin(TestDaemon::open(folder, "", "", Some(String::new()))).await
    }

    /// The same after a crash and a new start, with other sections. `meanwhile` may change the
    /// state folder.
    pub async fn restart(
        self,
        sections: &str,
        meanwhile: impl FnOnce(&std::path::Path),
    ) -> TestDaemon {
        let TestDaemon { folder, daemon, api, gate, passphrase, agents, people } = self;
        drop((daemon, api, agents, people));
        // The last reference drops the store, which releases its lock. Announcements may hold one
        // for a moment.
        let left = Arc::downgrade(&gate);
        drop(gate);
        until("the release of the gate", async || left.strong_count() == 0).await;
        meanwhile(&folder.path().join("s"));
        Box::pin(TestDaemon::open(folder, "", sections, Some(passphrase))).await
    }

    async fn open(
        folder: tempfile::TempDir,
        listen: &str,
        sections: &str,
        passphrase: Option<String>,
    ) -> TestDaemon {
        let place = |name: &str| folder.path().join(name);
        let paths = Paths { config: place("c.toml"), state: place("s"), runtime: place("r") };
        let (first, rest) = sections.split_once("\n\n").unwrap_or(("", sections));
        let text = format!("{first}\n[listen]\n{LISTEN}{listen}\n{rest}");
        // The store of a daemon before may take a moment to let go of its lock.
        let start = std::time::Instant::now();
        let mut daemon = loop {
            let mut config = DaemonConfig::read(&text, &paths).unwrap();
            config.create_owner &= passphrase.as_deref() != Some("");
            match Daemon::open(config, paths.clone()).await {
                Ok(daemon) => break daemon,
                Err(error) if start.elapsed().as_secs() > 10 => panic!("{error}"),
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            }
        };
        let notice = daemon.notice();
        let api = daemon.api();
        TestDaemon {
            folder,
            gate: daemon.gate(),
            passphrase: notice.passphrase.map(|text| text.to_string()).or(passphrase).unwrap(),
            agents: (AgentApi::new(&api), notice.agents.port()),
            people: (routes::people(&api), notice.people.port()),
            api,
            daemon,
        }
    }

    pub fn port(&self, side: ApiSide) -> u16 {
        if side == ApiSide::Agents { self.agents.1 } else { self.people.1 }
    }

    /// A request exactly as it is given.
    pub async fn send(&self, side: ApiSide, request: Request) -> TestReply {
        let (mut request, peer) = (request, Peer::Network { local: true });
        let response = if side == ApiSide::Agents {
            Box::pin(self.agents.0.respond(request, peer)).await
        } else {
            request.extensions_mut().insert(peer);
            self.people.0.clone().call(request).await.unwrap()
        };
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 1 << 22).await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let text = bytes.to_vec();
        TestReply { status: parts.status, headers: parts.headers, body, text }
    }

    /// A request for the right host, with further headers and a JSON body.
    pub async fn ask(
        &self,
        side: ApiSide,
        line: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> TestReply {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", format!("127.0.0.1:{}", self.port(side)));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(side, request.body(body).unwrap()).await
    }

    /// The same with a token.
    pub async fn by(
        &self,
        token: &str,
        side: ApiSide,
        line: &str,
        body: Option<Value>,
    ) -> TestReply {
        let bearer = format!("Bearer {token}");
        self.ask(side, line, &[("authorization", &bearer)], body).await
    }

    /// The text of a page for a person.
    pub async fn page(&self, token: &str, path: &str) -> String {
        let reply = self.by(token, ApiSide::People, &format!("GET {path}"), None).await;
        String::from_utf8(reply.text).unwrap()
    }

    /// A change, confirmed with the owner's passphrase.
    pub async fn change(&self, token: &str, line: &str, body: Option<Value>) -> TestReply {
        self.change_with(token, &self.passphrase, line, body).await
    }

    /// A change, confirmed with this passphrase.
    pub async fn change_with(
        &self,
        token: &str,
        passphrase: &str,
        line: &str,
        body: Option<Value>,
    ) -> TestReply {
        let (bearer, proof) = (format!("Bearer {token}"), step_up_proof(passphrase));
        let headers = [("authorization", &*bearer), (crate::api::STEP_UP, &*proof)];
        self.ask(ApiSide::People, line, &headers, body).await
    }

    /// Writes the configuration file and lets the daemon read it, as SIGHUP does.
    pub async fn reload_file(&self, text: &str) {
        std::fs::write(&self.daemon.paths().config, text).unwrap();
        self.daemon.reloader().reload().await;
    }

    /// The daemon's state folder.
    pub fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("s")
    }

    /// Advances the clock, so that what follows has a later time.
    pub fn forward(&self, millis: u64) {
        let clock = self.gate.clock();
        clock.not_before(clock.now().at.plus(Millis(millis)));
    }

    pub fn now(&self) -> Timestamp {
        self.gate.clock().now().at
    }

    pub fn note(&self) -> WriteContext {
        self.gate.note()
    }

    /// A person with the owner's passphrase.
    pub async fn person(&self, name: &str, role: Role) {
        let passphrase = self.api.directory.record("owner").unwrap().passphrase;
        let name = name.to_owned();
        let added = self.now();
        let person = StoredPerson {
            name,
            role,
            passphrase,
            added,
            role_since: added,
            active_from: added,
            revoked: None,
        };
        self.gate.store().save_person(person, self.note()).await.unwrap();
        self.api.directory.reload(self.gate.store()).await.unwrap();
    }

    /// A login of a person, good so long from now (in milliseconds).
    pub async fn login(&self, person: &str, channel: &str, good_for: i64) -> String {
        let token = crate::random::secret("csp_").unwrap();
        self.keep_login(&token, person, channel, good_for).await;
        token
    }

    /// The owner's browser session.
    pub async fn browser(&self) -> TestBrowser {
        let browser = TestBrowser::new(&crate::random::secret("csw_").unwrap());
        self.keep_login(&browser.cookie(), "owner", "web", 3_600_000).await;
        browser
    }

    async fn keep_login(&self, token: &str, person: &str, channel: &str, good_for: i64) {
        let now = self.now();
        let login = StoredLogin {
            secret: Digest::of(token.as_bytes()),
            person: person.to_owned(),
            channel: channel.to_owned(),
            made: Timestamp(now.0 - 1_000_000),
            expires: Timestamp(now.0 + good_for),
            ended: None,
        };
        self.gate.store().save_login(login, self.note()).await.unwrap();
        self.api.directory.reload(self.gate.store()).await.unwrap();
    }

    /// The owner's token for a terminal.
    pub async fn owner(&self) -> String {
        self.login("owner", "terminal", 3_600_000).await
    }

    /// An agent's token, good so long from now (in milliseconds).
    pub async fn agent(&self, name: &str, good_for: i64) -> String {
        let token = crate::random::secret("csa_").unwrap();
        let now = self.now();
        let agent = StoredAgent {
            name: name.to_owned(),
            token: Some(Digest::of(token.as_bytes())),
            uid: None,
            own_addresses: vec!["ana@example.org".to_owned()],
            added: now,
            expires: Some(Timestamp(now.0 + good_for)),
            revoked: None,
        };
        self.gate.store().save_agent(agent, self.note()).await.unwrap();
        self.api.directory.reload(self.gate.store()).await.unwrap();
        token
    }

    /// Every entry of the ledger.
    pub async fn ledger(&self) -> Vec<Value> {
        let slice = self.gate.store().entries(0, 4_096).await.unwrap();
        slice.entries.iter().map(|bytes| serde_json::from_slice(bytes).unwrap()).collect()
    }

    /// How many entries of a kind there are.
    pub async fn count(&self, kind: &str) -> usize {
        self.ledger().await.iter().filter(|entry| entry["kind"] == kind).count()
    }
}
