//! A whole gate over a real store in a folder of its own, for tests.

use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::Request;
use countersign_json::canonical::Digest;
use countersign_store::{
    Backend, Role, SqliteOptions, SqliteStore, Store as _, StoredAgent, StoredLogin, StoredPerson,
    WriteContext,
};
use countersign_types::time::{Clock, Timestamp};
use tower_service::Service as _;

use crate::api::{self, Api, ApiParts};
use crate::auth::origin::AllowedHosts;
use crate::auth::{Directory, LoginThrottle};
use crate::clock::DaemonClock;
use crate::config::{DaemonConfig, Paths};
use crate::gate::Gate;
use crate::keys::Keys;
use crate::listeners::Peer;
use crate::routes;

pub(crate) const AGENT: &str = "csa_coder";
pub(crate) const OTHER: &str = "csa_other";
pub(crate) const PERSON: &str = "csp_ana";
const PORT: u16 = 6000;
/// No one is spared any question.
pub(crate) const FLOOD: &str = "[flood]\nopen_per_agent = 100000\nasks_per_minute = 100000\n\
    asks_per_hour = 100000\n";

/// What the person proves themselves with.
pub(crate) const PASSPHRASE: &str = "plum-rocket-seven-cellar";

/// What is kept of it, made once: that takes a while.
fn hashed() -> &'static str {
    static HASHED: LazyLock<String> =
        LazyLock::new(|| crate::auth::hash_passphrase(PASSPHRASE).unwrap());
    &HASHED
}

pub(crate) struct TestGate {
    pub gate: Arc<Gate>,
    pub keys: Arc<Keys>,
    pub api: Api,
    pub folder: tempfile::TempDir,
}

/// An answer, read to its end.
pub(crate) struct TestResponse {
    pub status: u16,
    pub text: String,
}

impl TestResponse {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

pub(crate) async fn test_gate() -> TestGate {
    test_gate_with(FLOOD, SqliteOptions::default()).await
}

pub(crate) async fn test_gate_with(text: &str, options: SqliteOptions) -> TestGate {
    let folder = tempfile::tempdir().unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(folder.path(), private).unwrap();
    let at = |name: &str| folder.path().join(name);
    let paths = Paths { config: at("c"), state: folder.path().into(), runtime: at("r") };
    let config = DaemonConfig::read(text, &paths).unwrap();
    let clock = Arc::new(DaemonClock::start());
    let telling = Arc::clone(&clock) as Arc<dyn Clock>;
    let store = SqliteStore::open(&at("store.db"), telling, options).unwrap();
    let store = Arc::new(Backend::Sqlite(store));
    let keys = Arc::new(Keys::open(&at("signing.key"), &config.rules.issuer).unwrap());
    add_people_and_agents(&store, &config, &clock).await;
    let directory = Arc::new(Directory::default());
    directory.reload(&store).await.unwrap();
    let gate = Arc::new(Gate::open(store, clock, config.rules).await.unwrap());
    gate.use_listed_grants_and_judge(&gate.rules()).await.unwrap();
    let api = Api::new(ApiParts {
        gate: Arc::clone(&gate),
        directory,
        login_throttle: LoginThrottle::default(),
        checks: crate::auth::PassphraseChecks::default(),
        keys: Arc::clone(&keys),
        channels: Arc::default(),
        buttons: Arc::new(crate::buttons::Buttons::new(keys.derived("buttons"))),
        presence: Arc::default(),
        guard: crate::guard_slot::GuardSlot::default(),
        proofs: Arc::default(),
        recovery: crate::auth::recovery::folder(folder.path()),
        fleet: crate::fleet::Fleet::new(folder.path()),
        identity: crate::identity::DaemonIdentity::default(),
        agent_hosts: AllowedHosts::new(PORT, &[], false),
        people_hosts: AllowedHosts::new(PORT, &[], false),
    });
    TestGate { gate, keys, api, folder }
}

/// Two agents, one administrator, and her terminal session.
async fn add_people_and_agents(store: &Backend, config: &DaemonConfig, clock: &DaemonClock) {
    let note = || WriteContext { policy: config.rules.hash, facts: None, edited: None };
    let now = clock.now().at;
    for (name, token) in [("coder", AGENT), ("other", OTHER)] {
        let token = Some(Digest::of(token.as_bytes()));
        let (name, added) = (name.to_owned(), now);
        let agent = StoredAgent {
            name,
            token,
            uid: None,
            own_addresses: vec![],
            added,
            expires: None,
            revoked: None,
        };
        store.save_agent(agent, note()).await.unwrap();
    }
    let (name, role, passphrase) = ("ana".to_owned(), Role::Administrator, hashed().to_owned());
    let person = StoredPerson {
        name,
        role,
        passphrase,
        added: now,
        role_since: now,
        active_from: now,
        revoked: None,
    };
    store.save_person(person, note()).await.unwrap();
    let login = StoredLogin {
        secret: Digest::of(PERSON.as_bytes()),
        person: "ana".to_owned(),
        channel: "terminal".to_owned(),
        made: now,
        expires: Timestamp(now.0 + 86_400_000),
        ended: None,
    };
    store.save_login(login, note()).await.unwrap();
}

impl TestGate {
    /// Sends a request to the agent API.
    pub async fn agent(&self, token: &str, path: &str, body: &str) -> TestResponse {
        response(routes::agents(&self.api), token, path, body).await
    }

    /// Sends a request to the people API.
    pub async fn person(&self, path: &str, body: &str) -> TestResponse {
        response(routes::people(&self.api), PERSON, path, body).await
    }

    /// An approved request and its permit.
    pub async fn permit(&self, call: &str) -> String {
        let asked = self.agent(AGENT, "/v1/requests", call).await;
        assert_eq!(asked.status, 201, "{}", asked.text);
        let asked = asked.json();
        let id = asked["id"].as_str().unwrap().to_owned();
        let answer = serde_json::json!({
            "choice": "approve", "digest": asked["digest"], "reason": "it is fine",
            "word": asked["phrase"],
        });
        let path = format!("/v1/requests/{id}/decision");
        let decided = self.person(&path, &answer.to_string()).await;
        assert_eq!(decided.status, 200, "{}", decided.text);
        let read = self.agent(AGENT, &format!("/v1/requests/{id}"), "").await.json();
        read["permit"].as_str().unwrap_or_else(|| panic!("{read}")).to_owned()
    }
}

async fn response(mut api: axum::Router, token: &str, path: &str, body: &str) -> TestResponse {
    let method = if body.is_empty() { "GET" } else { "POST" };
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", format!("127.0.0.1:{PORT}"))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .header(api::STEP_UP, crate::auth::step_up_proof(PASSPHRASE))
        .body(Body::from(body.to_owned()))
        .unwrap();
    request.extensions_mut().insert(Peer::Network { local: true });
    let response = api.call(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(response.into_body(), 16 << 20).await.unwrap();
    TestResponse { status, text: String::from_utf8(bytes.to_vec()).unwrap() }
}
