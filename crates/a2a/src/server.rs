//! A whole server: listens, keeps the list of revoked certificates current, renews its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_client::Endpoint;
use countersign_tls::{FleetTrust, ServerIdentity, TlsError, fleet_server_config};
use countersign_types::time::Millis;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

use crate::card::{CardSettings, ServedCard};
use crate::error::A2aError;
use crate::fleet_files::{FleetFiles, FleetFilesError};
use crate::handlers::NodeState;
use crate::listener::serve_node;
use crate::node::A2aNode;
use crate::node_report::send_report;
use crate::policy::PeerPolicies;
use crate::routes::node_routes;

/// How often the list of revoked certificates is fetched.
const REFRESH: Duration = Duration::from_secs(15);
/// How often the node reports its card and its policies.
const REPORT: Duration = Duration::from_mins(1);

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address.
    #[error("{0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// Certificates and keys.
    #[error(transparent)]
    Files(#[from] FleetFilesError),
    /// TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Tasks that were open cannot be read.
    #[error(transparent)]
    Tasks(#[from] A2aError),
}

/// What a server needs.
pub struct NodeServer {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Its files.
    pub files: FleetFiles,
    /// The fleet's authority.
    pub authority: Endpoint,
    /// What its card says.
    pub card: CardSettings,
    /// What each peer may ask: read again while the server runs, if it exists.
    pub policies: Option<PathBuf>,
    /// Nobody is accepted once the newest list of revoked certificates was fetched longer ago.
    pub revocation_age: Duration,
    /// The node.
    pub node: Arc<A2aNode>,
}

impl NodeServer {
    /// Serves until the process ends. `ready` gets the address when connections are accepted.
    pub async fn serve(self, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
        let trust = self.files.trust()?;
        let age = u64::try_from(self.revocation_age.as_millis()).unwrap_or(u64::MAX);
        trust.limit_age(Millis(age));
        let identity = Arc::new(self.files.identity()?);
        if let Err(error) = refreshed(&self.files, &trust, &self.authority).await {
            tracing::warn!(%error, "the list of revoked certificates was not fetched");
        }
        let tls = fleet_server_config(Arc::clone(&identity), Arc::clone(&trust))?;
        let failed = |error| ServeError::Listen(self.listen, error);
        let listener = TcpListener::bind(self.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut card = self.card;
        if card.url.ends_with(":0") {
            card.url = format!("{}{}", card.url.trim_end_matches('0'), address.port());
        }
        let card = Arc::new(ServedCard::new(&card));
        if let Err(error) = card.sign(&self.files) {
            tracing::warn!(%error, "the card is not signed");
        }
        self.node.resume()?;
        tokio::spawn(Arc::clone(&self.node).deliver_pushes(Arc::clone(&trust)));
        tokio::spawn(Arc::clone(&self.node).expire_questions());
        if let Some(file) = self.policies {
            tokio::spawn(follow_policies(file, Arc::clone(&self.node)));
        }
        let routes =
            node_routes(NodeState { node: Arc::clone(&self.node), card: Arc::clone(&card) });
        let (files, authority) = (self.files.clone(), self.authority.clone());
        tokio::spawn(keep_reported(files, authority, Arc::clone(&card), self.node));
        let kept = (Arc::clone(&trust), identity, card);
        tokio::spawn(keep_current(self.files, kept, self.authority));
        ready(address);
        match serve_node(listener, tls, trust, routes).await {}
    }
}

async fn refreshed(
    files: &FleetFiles,
    trust: &Arc<FleetTrust>,
    authority: &Endpoint,
) -> Result<(), FleetFilesError> {
    let (files, trust, authority) = (files.clone(), Arc::clone(trust), authority.clone());
    let fetched = spawn_blocking(move || files.refresh(&trust, &authority)).await;
    fetched.unwrap_or_else(|error| Err(FleetFilesError::Authority(error.to_string())))
}

/// Reports this node at the authority, for ever: the daemon keeps reports in memory only.
async fn keep_reported(
    files: FleetFiles,
    authority: Endpoint,
    card: Arc<ServedCard>,
    node: Arc<A2aNode>,
) {
    loop {
        send_report(&files, &authority, &card, &node).await;
        tokio::time::sleep(REPORT).await;
    }
}

/// Reads the policies of peers again, for ever. While the file cannot be read, the last ones stay.
async fn follow_policies(file: PathBuf, node: Arc<A2aNode>) {
    loop {
        tokio::time::sleep(REFRESH).await;
        let read = file.clone();
        let read = spawn_blocking(move || read.exists().then(|| PeerPolicies::read(&read))).await;
        match read {
            Ok(Some(Ok(policies))) => {
                if node.set_policies(policies) {
                    tracing::info!("the policies of peers changed");
                }
            }
            Ok(Some(Err(error))) => {
                tracing::warn!(%error, "the policies of peers stay as they are");
            }
            Ok(None) | Err(_) => {}
        }
    }
}

/// Fetches the list of revoked certificates and renews the own certificate, for ever.
async fn keep_current(
    files: FleetFiles,
    (trust, identity, card): (Arc<FleetTrust>, Arc<ServerIdentity>, Arc<ServedCard>),
    authority: Endpoint,
) {
    loop {
        tokio::time::sleep(REFRESH).await;
        if let Err(error) = refreshed(&files, &trust, &authority).await {
            tracing::warn!(%error, "the list of revoked certificates was not fetched");
        }
        let (files, authority) = (files.clone(), authority.clone());
        let card = Arc::clone(&card);
        let renewed = spawn_blocking(move || {
            if files.should_renew()? {
                files.renew(&authority)?;
                card.sign(&files)?;
                return files.identity().map(Some);
            }
            Ok(None)
        });
        match renewed.await {
            Ok(Ok(Some(new))) => {
                identity.replace(&new);
                tracing::info!("the certificate was renewed");
            }
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the certificate was not renewed"),
            Err(error) => tracing::error!(%error, "the certificate was not renewed"),
        }
    }
}
