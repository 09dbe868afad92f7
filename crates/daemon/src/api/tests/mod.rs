//! The API through its routers, over a real store.

mod authzen;
mod batches;
mod crises;
mod crisis_pages;
mod decisions;
mod delegated;
mod events;
mod grant_forms;
mod openapi;
mod pages;
mod passkeys;
mod pki;
mod pki_attacks;
mod pki_nodes;
mod place;
mod plans;
mod proposed_edits;
mod push;
mod reports;
mod screen;
mod screen_judge;
mod segments;
mod take_over;
mod tool_labels;
mod typed_word;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use countersign_json::canonical::Digest;
use countersign_store::{
    Backend, Role, SqliteOptions, SqliteStore, Store, StoredAgent, StoredLogin, StoredPerson,
    WriteContext,
};
use countersign_types::time::{Clock, Millis};
use countersign_workflow::grant::{Grant, GrantShape};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tower_service::Service as _;

use super::{Api, ApiParts};
use crate::auth::origin::AllowedHosts;
use crate::auth::step_up_proof;
use crate::auth::{Directory, LoginThrottle};
use crate::clock::DaemonClock;
use crate::config::{DaemonConfig, Paths};
use crate::gate::Gate;
use crate::keys::Keys;
use crate::listeners::Peer;

/// The agent of most tests, and its token.
const CODER: &str = "coder";
const CODER_TOKEN: &str = "csa_coder";
/// Another agent.
const OTHER_TOKEN: &str = "csa_other";
/// A person.
const ANA_TOKEN: &str = "csp_ana";
/// Her passphrase.
const PASSPHRASE: &str = "plum-rocket-seven-cellar";

/// Its hash, computed once because that takes a while.
fn hashed() -> &'static str {
    static HASHED: LazyLock<String> =
        LazyLock::new(|| crate::auth::hash_passphrase(PASSPHRASE).unwrap());
    &HASHED
}

/// Both APIs over a store in a temporary folder.
struct TestApi {
    folder: TempDir,
    api: Api,
    agents: Router,
    people: Router,
    stop: watch::Sender<bool>,
}

impl TestApi {
    async fn new() -> TestApi {
        TestApi::with("").await
    }

    async fn with(config: &str) -> TestApi {
        let folder = tempfile::tempdir().unwrap();
        // A folder inside the temporary folder: the store requires one that only its user can open.
        let place = folder.path().join("state");
        let paths = Paths {
            config: place.join("countersign.toml"),
            state: place.clone(),
            runtime: place.clone(),
        };
        let config = DaemonConfig::read(config, &paths).unwrap();
        let clock = Arc::new(DaemonClock::start());
        let telling = Arc::clone(&clock) as Arc<dyn Clock>;
        let store =
            SqliteStore::open(&place.join("s.db"), telling, SqliteOptions::default()).unwrap();
        let store = Arc::new(Backend::Sqlite(store));
        let directory = Arc::new(Directory::default());
        enter_everybody(&store, &clock).await;
        directory.reload(&store).await.unwrap();
        let gate = Gate::open(store, clock, config.rules).await.unwrap();
        gate.use_listed_grants_and_judge(&gate.rules()).await.unwrap();
        let (stop, stopping) = watch::channel(false);
        let api = Api::new(ApiParts {
            gate: Arc::new(gate),
            directory,
            login_throttle: LoginThrottle::default(),
            checks: crate::auth::PassphraseChecks::default(),
            keys: Arc::new(Keys::open(&place.join("key"), "countersign").unwrap()),
            channels: Arc::default(),
            buttons: Arc::new(crate::buttons::Buttons::new([1; 32].into())),
            presence: Arc::default(),
            guard: crate::guard_slot::GuardSlot::default(),
            proofs: Arc::default(),
            recovery: crate::auth::recovery::folder(&place),
            fleet: crate::fleet::Fleet::new(&place),
            identity: crate::identity::DaemonIdentity::default(),
            agent_hosts: AllowedHosts::new(6000, &[], false),
            people_hosts: AllowedHosts::new(6001, &[], false),
        })
        .until(stopping);
        let (agents, people) = (crate::routes::agents(&api), crate::routes::people(&api));
        TestApi { folder, api, agents, people, stop }
    }

    /// Sends a request as the agent `coder`.
    async fn agent(&self, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        read(self.agents(method, path, Some(CODER_TOKEN), &[], body).await).await
    }

    /// Sends a request as Ana, with her passphrase as the proof.
    async fn person(&self, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let proof = step_up_proof(PASSPHRASE);
        let headers = [(super::STEP_UP, &*proof)];
        read(send(&self.people, 6001, method, path, Some(ANA_TOKEN), &headers, body).await).await
    }

    async fn agents(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Response {
        send(&self.agents, 6000, method, path, token, headers, body).await
    }

    /// Ana approves a request.
    async fn approve(&self, document: &Value) -> (StatusCode, Value) {
        let id = document["id"].as_str().unwrap();
        let body = json!({
            "choice": "approve", "digest": document["digest"], "reason": "I looked at it",
            "word": document["phrase"],
        });
        self.person("POST", &format!("/v1/requests/{id}/decision"), body).await
    }

    /// Ana gives a grant for every call of a tool.
    async fn grant(&self, tool: &str) {
        let now = self.api.gate.clock().now().at;
        let grant = Grant {
            id: crate::random::id(now).unwrap(),
            shape: GrantShape::Action { tool: tool.to_owned() },
            agent: None,
            session: None,
            made_by: "ana".to_owned(),
            made_at: now,
            expires: Some(now.plus(Millis::from_seconds(600))),
            uses_left: None,
            revoked: None,
            details: countersign_workflow::grant::GrantDetails::default(),
        };
        self.api.gate.store().create_grant(grant.clone(), note()).await.unwrap();
        self.api.gate.grants().add(grant);
    }
}

fn note() -> WriteContext {
    WriteContext { policy: Digest::of(b"policy"), facts: None, edited: None }
}

async fn enter_everybody(store: &Backend, clock: &DaemonClock) {
    let now = clock.now().at;
    for (name, token) in [(CODER, CODER_TOKEN), ("other", OTHER_TOKEN)] {
        let agent = StoredAgent {
            name: name.to_owned(),
            token: Some(Digest::of(token.as_bytes())),
            uid: None,
            own_addresses: Vec::new(),
            added: now,
            expires: None,
            revoked: None,
        };
        store.save_agent(agent, note()).await.unwrap();
    }
    let ana = StoredPerson {
        name: "ana".to_owned(),
        role: Role::Approver,
        passphrase: hashed().to_owned(),
        added: now,
        role_since: now,
        active_from: now,
        revoked: None,
    };
    store.save_person(ana, note()).await.unwrap();
    let login = StoredLogin {
        secret: Digest::of(ANA_TOKEN.as_bytes()),
        person: "ana".to_owned(),
        channel: "terminal".to_owned(),
        made: now,
        expires: now.plus(Millis::from_seconds(3600)),
        ended: None,
    };
    store.save_login(login, note()).await.unwrap();
}

async fn send(
    router: &Router,
    port: u16,
    method: &str,
    path: &str,
    token: Option<&str>,
    headers: &[(&str, &str)],
    body: Value,
) -> Response {
    let mut request =
        Request::builder().method(method).uri(path).extension(Peer::Network { local: true });
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header(header::HOST, format!("127.0.0.1:{port}"));
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() {
        Body::empty()
    } else {
        request = request.header(header::CONTENT_TYPE, "application/json");
        // A string is sent as it is: some tests are about how JSON is written.
        Body::from(body.as_str().map_or_else(|| body.to_string(), ToOwned::to_owned))
    };
    router.clone().call(request.body(body).unwrap()).await.unwrap()
}

async fn read(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let bytes = axum::body::to_bytes(response.into_body(), 4 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn header_of(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}
