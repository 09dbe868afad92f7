//! Start order and stop order: nothing is served before everything it needs is there.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::facts::FactsKey;
use countersign_store::{Store as _, StoreError};
use countersign_types::SYSTEM_RUNTIME_FOLDER;
use countersign_types::time::Clock as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use crate::api::{Api, ApiParts};
use crate::auth::origin::AllowedHosts;
use crate::auth::{self, Directory, LoginThrottle, PassphraseChecks};
use crate::buttons::Buttons;
use crate::checkpoints::Checkpoints;
use crate::clock::DaemonClock;
use crate::config::{DaemonConfig, Paths};
use crate::first_start::{adopt_credentials, first_person, open_store, private_folder};
use crate::fleet::Fleet;
use crate::gate::Gate;
use crate::guard_slot::GuardSlot;
use crate::identity::DaemonIdentity;
use crate::key_rotation::publish_key;
use crate::keys::{self, KeyError, Keys};
use crate::notifier::{self, ChannelPool};
use crate::proof::{Alarm, Proofs};
use crate::reload::{Reloader, changes_since_last_start, describe_changes};
use crate::shutdown::Stop;
use crate::start_error::StartError;
use crate::start_listeners::{OpenListeners, port, spawn_listeners};
use crate::store_watch::check_store;
use crate::tls::DaemonTls;

/// How long tasks get to finish when the daemon stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// What the daemon prints at its start.
pub struct Notice {
    /// The address of the people API.
    pub people: SocketAddr,
    /// The address of the agent API.
    pub agents: SocketAddr,
    /// The Unix socket of the agent API.
    pub socket: Option<PathBuf>,
    /// The pin of the TLS key, if the addresses speak TLS.
    pub pin: Option<String>,
    /// The owner's passphrase, at the first start only. It is not stored.
    pub passphrase: Option<Zeroizing<String>>,
}

/// A daemon that listens, but does not serve yet.
pub struct Daemon {
    config: DaemonConfig,
    paths: Paths,
    gate: Arc<Gate>,
    api: Api,
    listeners: OpenListeners,
    tls: Option<Arc<DaemonTls>>,
    passphrase: Option<Zeroizing<String>>,
    checkpoints: Arc<Checkpoints>,
    /// What to announce once the channels are open.
    news: Option<String>,
}

impl Daemon {
    /// Opens everything: folders, store, key, people, listeners, in this order.
    pub async fn open(config: DaemonConfig, paths: Paths) -> Result<Daemon, StartError> {
        config.check_exposure()?;
        private_folder(&config.state)?;
        let store_failed = |error| StartError::Store(config.store.clone(), error);
        let clock = Arc::new(DaemonClock::start());
        let store = open_store(&config, &clock)?;
        let keys = Arc::new(open_keys(&config)?);
        let start = Entry::new(0, EntryKind::Start, config.rules.hash);
        store.append(vec![start]).await.map_err(store_failed)?;
        let rotated = publish_key(&store, &keys, &config.state, config.rules.hash).await?;
        let passphrase = first_person(&store, &config, clock.now().at).await?;
        let gate = Gate::open(store, clock, config.rules.clone()).await.map_err(store_failed)?;
        gate.set_facts_key(keys::facts_key(&config.state.join(FactsKey::FILE))?);
        let gate = Arc::new(gate);
        gate.judge().set_folder(config.state.join("judge"));
        gate.set_markers(&marker_folder(&config, &paths));
        let recorded = check_store(&gate, &keys, &config).await.map_err(store_failed)?;
        let directory = open_directory(&gate).await.map_err(store_failed)?;
        let changes = changes_since_last_start(&gate, &config, recorded.written.as_deref());
        let changes = changes.await.map_err(store_failed)?;
        let news = [rotated, describe_changes(&gate, &changes)].into_iter().flatten();
        let news = news.reduce(|all, more| format!("{all}\n{more}"));
        let opened = (Arc::clone(&gate), Arc::clone(&keys));
        let checkpoints =
            Checkpoints::open(opened.0, opened.1, &config.state, &config.ledger).await?;
        let checkpoints = Arc::new(checkpoints);
        let tls = DaemonTls::open(&config, gate.clock().now().at)?.map(Arc::new);
        let listeners = OpenListeners::open(&config)?;
        let hosts = |port, names: &[String]| AllowedHosts::new(port, names, tls.is_some());
        let channels = Arc::new(ChannelPool::default());
        channels.browsers().set_key(keys::push_key(&config.state.join("push.key"))?);
        let api = Api::new(ApiParts {
            gate: Arc::clone(&gate),
            directory,
            channels,
            buttons: Arc::new(Buttons::new(keys.derived("buttons"))),
            presence: Arc::default(),
            guard: GuardSlot::default(),
            recovery: auth::recovery::folder(&config.state),
            fleet: Fleet::open(&config.state, gate.store()).await.map_err(store_failed)?,
            proofs: Arc::new(Proofs::open(&config.state, config.test_gates_every.is_some())),
            login_throttle: LoginThrottle::default(),
            checks: PassphraseChecks::default(),
            keys,
            identity: DaemonIdentity::of_this_process(&config, &paths),
            agent_hosts: hosts(port(&listeners.agents, config.agents), config.agent_hosts()),
            people_hosts: hosts(port(&listeners.people, config.people), &config.hosts),
        });
        Ok(Daemon { config, paths, gate, api, listeners, tls, passphrase, checkpoints, news })
    }

    /// What to print at the start.
    pub fn notice(&mut self) -> Notice {
        let address = |listener: &TcpListener, asked| listener.local_addr().unwrap_or(asked);
        Notice {
            people: address(&self.listeners.people, self.config.people),
            agents: address(&self.listeners.agents, self.config.agents),
            socket: self.config.socket.as_ref().map(|socket| socket.path.clone()),
            pin: self.tls.as_ref().and_then(|tls| tls.pin().ok()).map(|pin| pin.to_string()),
            passphrase: self.passphrase.take(),
        }
    }

    /// Serves until `until` ends, then stops in order: no new calls, pending responses, the store.
    pub async fn serve(self, until: impl Future<Output = ()>) -> Result<(), StoreError> {
        let Daemon { config, gate, api, listeners, checkpoints, news, tls, .. } = self;
        let (stop, stopping) = watch::channel(false);
        let api = api.until(stopping.clone());
        let mut tasks = JoinSet::new();
        spawn_listeners(&mut tasks, &api, listeners, tls.as_deref(), &stopping);
        if let Some(tls) = tls {
            tasks.spawn(crate::tls::run(tls, Arc::clone(&gate), stopping.clone()));
        }
        spawn_background(&mut tasks, &api, &gate, &stopping);
        if let Some(news) = news {
            tracing::warn!("{news}");
            api.announce(news);
        }
        if let Some(collector) = &config.log.otlp {
            let (spans, work) = crate::otlp::exporter(collector, stopping.clone());
            gate.metrics().export(spans);
            tasks.spawn(work);
        }
        let signing = Arc::clone(&checkpoints);
        tasks.spawn(async move { signing.run(stopping).await });
        tokio::select! {
            () = until => {}
            // The response about the rebase is on its way; the listeners finish it.
            () = gate.integrity().restart_requested() => {
                tracing::warn!("stopping: the clock was rebased");
            }
        }
        // Sending fails only if every task has ended already.
        let _ = stop.send(true);
        let tasks_end = async { while tasks.join_next().await.is_some() {} };
        let ended = async { tokio::join!(api.now.changes.ended(), tasks_end) };
        if tokio::time::timeout(STOP_TIMEOUT, ended).await.is_err() {
            tracing::warn!("some tasks did not end in time and were left behind");
        }
        tasks.detach_all();
        if let Some(socket) = &config.socket {
            // A file that stays is removed at the next start.
            let _ = fs::remove_file(&socket.path);
        }
        let last = Entry::new(0, EntryKind::Stop, gate.rules().hash);
        gate.store().append(vec![last]).await?;
        if let Err(error) = gate.raise_mark().await {
            tracing::error!(%error, "the ledger mark was not written");
        }
        // The last entry is signed as well, so that a later truncation is detected.
        if let Err(error) = checkpoints.sign(false).await {
            tracing::error!(%error, "the last checkpoint was not signed");
        }
        gate.store().close().await
    }

    /// Reads the configuration again when asked.
    pub fn reloader(&self) -> Reloader {
        let (gate, channels) = (Arc::clone(&self.gate), Arc::clone(&self.api.channels));
        Reloader::new(gate, channels, self.paths.clone(), self.tls.clone())
    }

    /// Whether there is a person who could decide.
    pub fn has_people(&self) -> bool {
        self.api.directory.person_count() > 0
    }

    /// The gate.
    pub fn gate(&self) -> Arc<Gate> {
        Arc::clone(&self.gate)
    }

    /// The receiver of the results of gate tests.
    pub fn alarm(&self) -> Alarm {
        let (gate, channels) = (Arc::clone(&self.gate), Arc::clone(&self.api.channels));
        Alarm::new(gate, channels, Arc::clone(&self.api.proofs))
    }

    /// The state shared by the APIs.
    #[cfg(test)]
    pub(crate) fn api(&self) -> Api {
        self.api.clone()
    }

    /// The paths.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }
}

/// The people and agents that the ledger confirms.
async fn open_directory(gate: &Gate) -> Result<Arc<Directory>, StoreError> {
    adopt_credentials(gate).await?;
    let directory = Arc::new(Directory::default());
    directory.reload(gate.store()).await?;
    Ok(directory)
}

/// The folder of the file that tells hooks about a freeze. Hooks of other users look in the folder
/// of the system service.
fn marker_folder(config: &DaemonConfig, paths: &Paths) -> PathBuf {
    let folder = config.socket.as_ref().and_then(|socket| socket.path.parent());
    match folder.filter(|folder| *folder == Path::new(SYSTEM_RUNTIME_FOLDER)) {
        Some(folder) => folder.to_owned(),
        None => paths.gateways(),
    }
}

/// The daemon's keys. Where agents are other users, they find the key to pin beside the socket.
/// They do not believe it by itself: clients refuse a key file of another user.
fn open_keys(config: &DaemonConfig) -> Result<Keys, KeyError> {
    let keys = Keys::open_in(&config.state, &config.rules.issuer)?;
    let shared = config.socket.as_ref().filter(|socket| socket.group.is_some());
    if let Some(folder) = shared.and_then(|socket| socket.path.parent())
        && let Err(error) = keys.publish(folder)
    {
        tracing::warn!(%error, "the daemon's public key was not written beside the socket");
    }
    Ok(keys)
}

/// Deadlines, announcements, inbound messages, drills, and what follows the store.
fn spawn_background(tasks: &mut JoinSet<()>, api: &Api, gate: &Arc<Gate>, stop: &Stop) {
    let parts = api.notifier_parts();
    let channels = Arc::clone(&parts.channels);
    let gate = || Arc::clone(gate);
    let announcing = api.clone();
    let announce = move |text| announcing.announce(text);
    if let Some(fault) = gate().integrity().fault() {
        announce(fault.advice());
    }
    // The first test of the guard model begins now, not with the first text.
    api.guard.follow(gate().rules().guard.as_ref());
    tasks.spawn(crate::store_watch::run(gate(), announce, stop.clone()));
    tasks.spawn(crate::watch::run(gate(), stop.clone()));
    tasks.spawn(crate::judge_watch::run(gate(), stop.clone()));
    tasks.spawn(crate::review_watch::run(gate(), stop.clone()));
    tasks.spawn(crate::withdrawals::run(gate(), stop.clone()));
    tasks.spawn(auth::follow(Arc::clone(&api.directory), gate(), stop.clone()));
    tasks.spawn(crate::push::follow(gate(), Arc::clone(channels.browsers()), stop.clone()));
    tasks.spawn(crate::crisis_pages::run(gate(), Arc::clone(&channels), stop.clone()));
    tasks.spawn(notifier::digest::run(gate(), channels, stop.clone()));
    tasks.spawn(notifier::run(gate(), parts, stop.clone()));
    tasks.spawn(crate::drills::run(gate(), Arc::clone(&api.presence), stop.clone()));
    tasks.spawn(crate::inbound::run(Arc::clone(api.inbound()), stop.clone()));
}
