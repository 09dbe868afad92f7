//! Test support: a gate with a real store, and a webhook receiver with configurable faults.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use countersign_risk::call::Call;
use countersign_store::{
    Backend, SqliteOptions, SqliteStore, Store as _, StoredRequest, WriteContext,
};
use countersign_types::time::{Clock as _, Millis, Timestamp};
use countersign_workflow::assurance::{Authority, RequiredAssurance, Tenure};
use countersign_workflow::request::{ApprovalScope, Choice, Event};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::NotifierParts;
use crate::clock::DaemonClock;
use crate::config::{DaemonConfig, Paths};
use crate::gate::{CallProjects, CallSubmission, Caller, Gate, GateAnswer, JoinOptions};

/// A gate with its notifier and inbound channels.
pub struct TestNotifier {
    pub gate: Arc<Gate>,
    pub parts: NotifierParts,
    _stop: watch::Sender<bool>,
    stopping: watch::Receiver<bool>,
    tasks: JoinSet<()>,
}

/// The rules of a configuration text.
pub fn rules(folder: &Path, text: &str) -> crate::config::DaemonRules {
    let paths = Paths { config: folder.into(), state: folder.into(), runtime: folder.into() };
    DaemonConfig::read(text, &paths).unwrap().rules
}

/// No open channels, and no person at the inbox.
pub fn parts() -> NotifierParts {
    let buttons = Arc::new(crate::buttons::Buttons::new([1; 32].into()));
    NotifierParts { channels: Arc::default(), buttons, presence: Arc::default() }
}

impl TestNotifier {
    pub async fn open(folder: &Path, text: &str) -> TestNotifier {
        let clock = Arc::new(DaemonClock::start());
        let path = folder.join("store");
        std::fs::create_dir_all(&path).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&path, private).unwrap();
        let telling = Arc::clone(&clock) as Arc<dyn countersign_types::time::Clock>;
        let store = SqliteStore::open(&path.join("db"), telling, SqliteOptions::default()).unwrap();
        if let Some(newest) = store.newest_time() {
            clock.not_before(newest);
        }
        let store = Arc::new(Backend::Sqlite(store));
        let gate = Gate::open(store, clock, rules(folder, text)).await.unwrap();
        gate.use_listed_grants_and_judge(&gate.rules()).await.unwrap();
        let (stop, stopping) = watch::channel(false);
        TestNotifier {
            gate: Arc::new(gate),
            parts: parts(),
            _stop: stop,
            stopping,
            tasks: JoinSet::new(),
        }
    }

    pub fn start(mut self) -> TestNotifier {
        let gate = Arc::clone(&self.gate);
        self.tasks.spawn(super::run(gate, self.parts.clone(), self.stopping.clone()));
        self
    }

    pub fn start_deadlines(mut self) -> TestNotifier {
        self.tasks.spawn(crate::watch::run(Arc::clone(&self.gate), self.stopping.clone()));
        self
    }

    /// Ends it like a crash: nothing is finished or closed.
    pub async fn crash(mut self) {
        self.tasks.shutdown().await;
        until("the release of the gate", async || Arc::strong_count(&self.gate) == 1).await;
    }

    pub async fn ask(&self, command: &str) -> StoredRequest {
        self.ask_in("", command).await
    }

    pub async fn ask_in(&self, session: &str, command: &str) -> StoredRequest {
        let session = (!session.is_empty()).then(|| session.into());
        let asks = CallSubmission {
            call: Call { session, ..Call::shell(command) },
            raw: command.as_bytes(),
            time: None,
            key: None,
            group: None,
            projects: CallProjects::default(),
            permit: false,
            join: JoinOptions::default(),
            snapshot: None,
            detail: &|| "{}".to_owned(),
        };
        let caller = Caller::named("coder");
        match self.gate.submit(asks, &caller).await {
            Ok(GateAnswer::Kept(stored)) => *stored,
            Ok(GateAnswer::Passed(_)) => panic!("{command} passed"),
            Err(held) => panic!("{command} was held: {held:?}"),
        }
    }

    pub async fn deny(&self, asked: &StoredRequest) {
        let event = Event::Answer {
            person: "ana".to_owned(),
            choice: Choice::Deny,
            scope: ApprovalScope::Once,
            seen: asked.request.digest,
            edited: None,
            channel: "web".to_owned(),
            reason: String::new(),
            word: String::new(),
            standing: (
                Authority::login(false, Tenure::from(Timestamp(0))),
                RequiredAssurance::default(),
            ),
        };
        let note = WriteContext { policy: self.gate.rules().hash, facts: None, edited: None };
        self.gate.decide(asked.request.id, event, note).await.unwrap();
    }

    /// Advances the clock to this many seconds after a request was made.
    pub fn advance_to(&self, asked: &StoredRequest, seconds: u32) {
        let at = asked.request.schedule.created.plus(Millis::from_seconds(seconds));
        self.gate.clock().not_before(at);
    }

    /// Advances the clock.
    pub fn jump(&self, seconds: u32) {
        let clock = self.gate.clock();
        clock.not_before(clock.now().at.plus(Millis::from_seconds(seconds)));
    }

    pub async fn stored(&self, asked: &StoredRequest) -> StoredRequest {
        self.gate.store().request(asked.request.id).await.unwrap().unwrap()
    }

    /// The ledger entries of this kind about a request.
    pub async fn ledger_lines(&self, asked: &StoredRequest, kind: &str) -> Vec<String> {
        let wanted = format!("\"kind\":\"{kind}\"");
        let told = self.gate.store().request_history(asked.request.id).await.unwrap();
        let lines = told.into_iter().map(|told| String::from_utf8(told.entry).unwrap());
        lines.filter(|line| line.contains(&wanted)).collect()
    }

    pub async fn outbox_is_empty(&self) {
        until("an empty outbox", async || {
            self.gate.store().outbox(0, 10).await.unwrap().is_empty()
        })
        .await;
    }
}

/// Waits for a condition. The limit only says that something hangs, also on a busy machine.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(2);
    while !holds().await {
        assert!(Instant::now() < end, "{what}: did not happen in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// How the receiver behaves.
#[derive(Debug, Clone, Copy)]
pub enum ReceiverBehavior {
    Answers(u16),
    Hangs,
    BreaksOff,
}

/// A receiver of webhooks on this machine.
pub struct WebhookReceiver {
    pub url: String,
    pub behavior: Arc<Mutex<ReceiverBehavior>>,
    got: Arc<Mutex<Vec<(String, serde_json::Value)>>>,
    _serving: JoinSet<()>,
}

impl WebhookReceiver {
    pub async fn start(behavior: ReceiverBehavior) -> WebhookReceiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (behavior, got) = (Arc::new(Mutex::new(behavior)), Arc::new(Mutex::new(Vec::new())));
        let mut serving = JoinSet::new();
        let (behaves, keeps) = (Arc::clone(&behavior), Arc::clone(&got));
        serving.spawn(async move {
            let mut talks = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                talks.spawn(serve(stream, Arc::clone(&behaves), Arc::clone(&keeps)));
            }
        });
        WebhookReceiver { url, behavior, got, _serving: serving }
    }

    /// The received messages: webhook-id and body, in order.
    pub fn got(&self) -> Vec<(String, serde_json::Value)> {
        self.got.lock().unwrap().clone()
    }

    /// The kinds of the received messages.
    pub fn kinds(&self) -> Vec<String> {
        self.got().iter().map(|(_, body)| body["data"]["kind"].as_str().unwrap().into()).collect()
    }

    /// Its part of the configuration.
    pub fn channel(&self, name: &str, folder: &Path) -> String {
        let path = folder.join("hook.secret");
        std::fs::write(&path, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&path, private).unwrap();
        format!(
            "[channels.{name}]\nkind = \"webhook\"\nurl = \"{}\"\nsecret_file = \"{}\"\n\
             allow_private = true\ntimeout_seconds = 1\n",
            self.url,
            path.display()
        )
    }
}

async fn serve(
    mut stream: tokio::net::TcpStream,
    behavior: Arc<Mutex<ReceiverBehavior>>,
    got: Arc<Mutex<Vec<(String, serde_json::Value)>>>,
) {
    let mut bytes = Vec::new();
    let body = loop {
        let mut part = [0; 4096];
        let read = stream.read(&mut part).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        bytes.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let header = |name: &str| {
            let line = head.lines().find(|line| line.to_lowercase().starts_with(name)).unwrap();
            line.split_once(": ").unwrap().1.to_owned()
        };
        if body.len() >= header("content-length").parse().unwrap() {
            break (header("webhook-id"), serde_json::from_str(body).unwrap());
        }
    };
    got.lock().unwrap().push(body);
    let behavior = *behavior.lock().unwrap();
    match behavior {
        ReceiverBehavior::Answers(status) => {
            let answer =
                format!("HTTP/1.1 {status} X\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
        ReceiverBehavior::Hangs => std::future::pending().await,
        ReceiverBehavior::BreaksOff => {}
    }
}
