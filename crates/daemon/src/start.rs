//! Start order and stop order: nothing is served before everything it needs is there.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_ledger::entry::{Entry, Kind};
use countersign_store::{
    Backend, OpenError, Role, SqliteOptions, SqliteStore, Store as _, StoreError, StoredPerson,
    WriteContext,
};
use countersign_types::time::{Clock, Timestamp};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use crate::api::{self, Api, Parts};
use crate::auth::origin::Names;
use crate::auth::{self, Book, Checks, Strikes, fresh_passphrase, hash_passphrase};
use crate::buttons::Buttons;
use crate::checkpoints::{Checkpoints, SignError};
use crate::clock::DaemonClock;
use crate::config::{Config, ConfigError, Paths};
use crate::courier::{self, Lines};
use crate::doors;
use crate::ears::{Heard, Links};
use crate::gate::Gate;
use crate::keys::{self, KeyError, Keys};
use crate::proof::{Alarm, Proofs};

/// The person who is made at the first start.
pub const OWNER: &str = "owner";

/// How long callers get to hear their answer when the daemon stops.
const FAREWELL: Duration = Duration::from_secs(3);

/// Why the daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store cannot be read or written.
    #[error("{0}: {1}")]
    Store(PathBuf, StoreError),
    /// The key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The signed heads of the ledger.
    #[error(transparent)]
    Signed(#[from] SignError),
    /// A folder.
    #[error("{0}: {1}")]
    Folder(PathBuf, io::Error),
    /// A door.
    #[error("{0}: {1} (is another daemon running?)")]
    Door(String, io::Error),
    /// No randomness or no memory for a passphrase.
    #[error("no passphrase could be made")]
    Passphrase,
}

/// What whoever starts the daemon should be told, once.
pub struct Notice {
    /// Where people answer.
    pub people: SocketAddr,
    /// Where agents ask.
    pub agents: SocketAddr,
    /// The agents' socket.
    pub socket: Option<PathBuf>,
    /// The owner's passphrase, at the first start only. It is kept nowhere.
    pub passphrase: Option<Zeroizing<String>>,
}

/// A daemon whose doors are open, but not served yet.
pub struct Daemon {
    config: Config,
    paths: Paths,
    gate: Arc<Gate>,
    api: Api,
    agents: TcpListener,
    people: TcpListener,
    socket: Option<UnixListener>,
    passphrase: Option<Zeroizing<String>>,
    checkpoints: Arc<Checkpoints>,
}

impl Daemon {
    /// Opens everything: folders, store, key, people, doors, in this order.
    pub async fn open(config: Config, paths: Paths) -> Result<Daemon, StartError> {
        private_folder(&config.state)?;
        let store_failed = |error| StartError::Store(config.store.clone(), error);
        let clock = Arc::new(DaemonClock::start());
        let options = SqliteOptions { sync_passes: config.strict, ..SqliteOptions::default() };
        let telling = Arc::clone(&clock) as Arc<dyn Clock>;
        let store = SqliteStore::open(&config.store, telling, options)?;
        if let Some(newest) = store.newest_time() {
            clock.not_before(newest);
        }
        let store = Arc::new(Backend::Sqlite(store));
        let keys = Keys::open(&config.state.join("signing.key"), &config.rules.issuer)?;
        let start = Entry::new(0, Kind::Start, config.rules.hash);
        store.append(vec![start]).await.map_err(store_failed)?;
        let passphrase = first_person(&store, &config, clock.now().at).await?;
        let book = Arc::new(Book::default());
        book.read(&store).await.map_err(store_failed)?;
        let gate = Gate::open(store, clock, config.rules.clone()).await.map_err(store_failed)?;
        let gate = Arc::new(gate);
        let keys = Arc::new(keys);
        let opened = (Arc::clone(&gate), Arc::clone(&keys));
        let checkpoints =
            Checkpoints::open(opened.0, opened.1, &config.state, &config.ledger).await?;
        let checkpoints = Arc::new(checkpoints);
        let door = |address: SocketAddr| {
            doors::listen(address).map_err(|error| StartError::Door(address.to_string(), error))
        };
        let (agents, people) = (door(config.agents)?, door(config.people)?);
        let socket = config
            .socket
            .as_ref()
            .map(|socket| {
                doors::listen_unix(socket)
                    .map_err(|error| StartError::Door(socket.path.display().to_string(), error))
            })
            .transpose()?;
        let port = |listener: &TcpListener, asked: SocketAddr| {
            listener.local_addr().map_or(asked.port(), |address| address.port())
        };
        let buttons = Arc::new(Buttons::new(keys.derived("buttons")));
        let lines = Arc::new(Lines::default());
        lines.browsers().set_key(keys::push_key(&config.state.join("push.key"))?);
        let api = Api::new(Parts {
            gate: Arc::clone(&gate),
            book,
            lines,
            buttons,
            links: Links::default(),
            heard: Heard::default(),
            presence: Arc::default(),
            recovery: auth::recovery::folder(&config.state),
            proofs: Arc::new(Proofs::open(&config.state, config.prove_every.is_some())),
            strikes: Strikes::default(),
            checks: Checks::default(),
            keys,
            agents_names: Names::new(port(&agents, config.agents), &[]),
            people_names: Names::new(port(&people, config.people), &config.hosts),
        });
        Ok(Daemon { config, paths, gate, api, agents, people, socket, passphrase, checkpoints })
    }

    /// What to tell whoever started it.
    pub fn notice(&mut self) -> Notice {
        let address = |listener: &TcpListener, asked| listener.local_addr().unwrap_or(asked);
        Notice {
            people: address(&self.people, self.config.people),
            agents: address(&self.agents, self.config.agents),
            socket: self.config.socket.as_ref().map(|socket| socket.path.clone()),
            passphrase: self.passphrase.take(),
        }
    }

    /// Serves until `until` is over, then stops in order: no new calls, answers out, store closed.
    pub async fn serve(self, until: impl Future<Output = ()>) -> Result<(), StoreError> {
        let (stop, stopping) = watch::channel(false);
        let mut doors = JoinSet::new();
        let api = self.api.clone().until(stopping.clone());
        let (agents, people) = (api::Agents::new(&api), api::people(&api));
        if let Some(socket) = self.socket {
            doors.spawn(doors::serve_unix(socket, agents.clone(), stopping.clone()));
        }
        doors.spawn(doors::serve(self.agents, agents, stopping.clone()));
        doors.spawn(doors::serve(self.people, people, stopping.clone()));
        let checkpoints = Arc::clone(&self.checkpoints);
        let signing = stopping.clone();
        let signing = tokio::spawn(async move { checkpoints.run(signing).await });
        if let Some(collector) = &self.config.log.otlp {
            let (spans, work) = crate::otlp::exporter(collector, stopping.clone());
            self.gate.metrics().export(spans);
            doors.spawn(work);
        }
        let watch = tokio::spawn(crate::watch::run(Arc::clone(&self.gate), stopping.clone()));
        let book = Arc::clone(&self.api.book);
        let follow = tokio::spawn(auth::follow(book, Arc::clone(&self.gate), stopping.clone()));
        let reach = self.api.reach();
        let (gate, lines) = (Arc::clone(&self.gate), Arc::clone(&reach.lines));
        let digest = tokio::spawn(courier::digest::run(gate, lines, stopping.clone()));
        let browsers = Arc::clone(reach.lines.browsers());
        let push = crate::push::follow(Arc::clone(&self.gate), browsers, stopping.clone());
        let push = tokio::spawn(push);
        let told = courier::run(Arc::clone(&self.gate), reach, stopping.clone());
        let courier = tokio::spawn(told);
        let (gate, presence) = (Arc::clone(&self.gate), Arc::clone(&self.api.presence));
        let drills = tokio::spawn(crate::drills::run(gate, presence, stopping.clone()));
        let ears = tokio::spawn(crate::ears::run(api.clone(), stopping.clone()));
        until.await;
        // Nobody listens only if everything has ended already.
        let _ = stop.send(true);
        let _ = tokio::time::timeout(FAREWELL, async {
            while doors.join_next().await.is_some() {}
            let _ = watch.await;
            let _ = follow.await;
            let _ = courier.await;
            let _ = ears.await;
            let _ = drills.await;
            let _ = push.await;
            let _ = digest.await;
            let _ = signing.await;
        })
        .await;
        if let Some(socket) = &self.config.socket {
            // A file that stays is taken away at the next start.
            let _ = fs::remove_file(&socket.path);
        }
        let rules = self.gate.rules();
        let farewell = Entry::new(0, Kind::Stop, rules.hash);
        self.gate.store().append(vec![farewell]).await?;
        // The last entry is signed as well: what is cut off afterwards is missed.
        if let Err(error) = self.checkpoints.sign(false).await {
            tracing::error!(%error, "the last head of the ledger was not signed");
        }
        self.gate.store().close().await
    }

    /// Reads the configuration again; a bad one changes nothing.
    pub async fn reload(gate: &Gate, paths: &Paths) {
        match Config::load(paths) {
            Ok(config) => match gate.change_rules(config.rules).await {
                Ok(()) => tracing::info!(policy = %gate.rules().hash, "the configuration is new"),
                Err(error) => tracing::error!(%error, "the new configuration was not kept"),
            },
            Err(error) => tracing::error!(%error, "the new configuration is refused"),
        }
    }

    /// The gate.
    pub fn gate(&self) -> Arc<Gate> {
        Arc::clone(&self.gate)
    }

    /// Whom to tell what was found at the agents' gates.
    pub fn alarm(&self) -> Alarm {
        let (gate, lines) = (Arc::clone(&self.gate), Arc::clone(&self.api.lines));
        Alarm::new(gate, lines, Arc::clone(&self.api.proofs))
    }

    /// What is behind the doors.
    #[cfg(test)]
    pub(crate) fn api(&self) -> Api {
        self.api.clone()
    }

    /// Where things lie.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }
}

/// A folder that nobody else can look into.
fn private_folder(folder: &Path) -> Result<(), StartError> {
    let failed = |error| StartError::Folder(folder.to_owned(), error);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(failed)
}

/// At the first start there is nobody: the owner is made, and the passphrase told once.
async fn first_person(
    store: &Backend,
    config: &Config,
    now: Timestamp,
) -> Result<Option<Zeroizing<String>>, StartError> {
    let failed = |error| StartError::Store(config.store.clone(), error);
    if !store.people().await.map_err(failed)?.is_empty() {
        return Ok(None);
    }
    let passphrase = fresh_passphrase().map_err(|_| StartError::Passphrase)?;
    let owner = StoredPerson {
        name: OWNER.to_owned(),
        role: Role::Administrator,
        passphrase: hash_passphrase(&passphrase).ok_or(StartError::Passphrase)?,
        added: now,
        role_since: now,
        active_from: now,
        revoked: None,
    };
    let note = WriteContext { policy: config.rules.hash, facts: None, edited: None };
    store.save_person(owner, note).await.map_err(failed)?;
    Ok(Some(passphrase))
}
