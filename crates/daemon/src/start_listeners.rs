//! The listeners of a start: opened first, served once everything is there.

use std::net::SocketAddr;

use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;

use crate::api::Api;
use crate::config::DaemonConfig;
use crate::descriptors::ConnectionLimits;
use crate::listeners;
use crate::routes;
use crate::shutdown::Stop;
use crate::start_error::StartError;
use crate::tls::DaemonTls;

/// Where agents and people connect.
pub struct OpenListeners {
    /// Of the agent API.
    pub agents: TcpListener,
    /// Of the people API.
    pub people: TcpListener,
    socket: Option<UnixListener>,
}

impl OpenListeners {
    /// Opens them.
    pub fn open(config: &DaemonConfig) -> Result<OpenListeners, StartError> {
        let listen = |address: SocketAddr| {
            listeners::listen(address)
                .map_err(|error| StartError::Listen(address.to_string(), error))
        };
        let (agents, people) = (listen(config.agents)?, listen(config.people)?);
        let listen_unix = |socket| {
            listeners::listen_unix(socket)
                .map_err(|error| StartError::Listen(socket.path.display().to_string(), error))
        };
        let socket = config.socket.as_ref().map(listen_unix).transpose()?;
        Ok(OpenListeners { agents, people, socket })
    }
}

/// The port that a listener really has: the configured one may be 0.
pub fn port(listener: &TcpListener, configured: SocketAddr) -> u16 {
    listener.local_addr().map_or(configured.port(), |address| address.port())
}

/// Serves the agent API and the people API.
pub fn spawn_listeners(
    tasks: &mut JoinSet<()>,
    api: &Api,
    listeners: OpenListeners,
    tls: Option<&DaemonTls>,
    stop: &Stop,
) {
    let (agents, people) = (routes::AgentApi::new(api), routes::people(api));
    let limits = ConnectionLimits::raised();
    api.now.tokenless_waits.divide(limits.agents);
    if let Some(socket) = listeners.socket {
        tasks.spawn(listeners::serve_unix(socket, agents.clone(), limits.socket, stop.clone()));
    }
    let (tls, stop) = (tls.map(DaemonTls::acceptor), || stop.clone());
    tasks.spawn(listeners::serve(listeners.agents, tls.clone(), agents, limits.agents, stop()));
    tasks.spawn(listeners::serve(listeners.people, tls, people, limits.people, stop()));
}
