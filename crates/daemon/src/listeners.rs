//! Listeners: accept connections, pass requests to a handler, and stop in order.
//!
//! hyper's plain HTTP/1 builder serves each connection: thousands of callers wait at once, and it
//! needs half the memory per connection of the builder that detects the protocol.

mod plain_http;

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

use crate::config::SocketConfig;
use crate::shutdown::{Stop, stopped};

/// How long a caller may take for its TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 10 });
/// How long a caller may take to send its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest headers; also the most that is read ahead for a caller.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// The length of the kernel's queue.
const BACKLOG: u32 = 4096;

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A network address.
    Network {
        /// Whether it is on this machine.
        local: bool,
    },
    /// A Unix user on this machine, as the kernel reports it.
    User(u32),
}

/// Handles requests of a listener.
pub trait RequestHandler: Clone + Send + 'static {
    /// Handles one request of this peer.
    fn handle(
        &self,
        request: hyper::Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response> + Send + use<Self>;
}

impl RequestHandler for Router {
    fn handle(
        &self,
        request: hyper::Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response> + Send + use<> {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        let handling = self.clone().call(request);
        async { handling.await.unwrap_or_else(|never| match never {}) }
    }
}

/// Listens on a network address.
pub fn listen(address: std::net::SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Listens on the agents' Unix socket. A stale socket file is removed; one that another daemon
/// serves is not.
pub fn listen_unix(socket: &SocketConfig) -> io::Result<UnixListener> {
    if let Some(folder) = socket.path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    if socket.path.exists() {
        if std::os::unix::net::UnixStream::connect(&socket.path).is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "another daemon serves this socket",
            ));
        }
        std::fs::remove_file(&socket.path)?;
    }
    let listener = UnixListener::bind(&socket.path)?;
    if let Some(group) = &socket.group {
        std::os::unix::fs::chown(&socket.path, None, Some(group_id(group)?))?;
    }
    std::fs::set_permissions(&socket.path, std::fs::Permissions::from_mode(socket.mode))?;
    Ok(listener)
}

/// The number of a group, which may be given as a number. Only groups in `/etc/group` have names
/// here.
fn group_id(group: &str) -> io::Result<u32> {
    if let Ok(number) = group.parse() {
        return Ok(number);
    }
    let groups = std::fs::read_to_string("/etc/group")?;
    let number = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(group)).then(|| fields.nth(1)?.parse().ok())?
    });
    number.ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("there is no group `{group}`"))
    })
}

/// Serves a network listener until the daemon stops, so many connections at once, those that are
/// still in their handshake included; further ones wait in the kernel's queue.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    handler: impl RequestHandler + Sync,
    limit: usize,
    mut stop: Stop,
) {
    let connections = Arc::new(Semaphore::new(limit));
    loop {
        let Ok(slot) = Arc::clone(&connections).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => return,
        };
        match accepted {
            Ok((stream, from)) => {
                // Responses are small: waiting to fill a packet only delays them.
                let _ = stream.set_nodelay(true);
                let peer = Peer::Network { local: from.ip().to_canonical().is_loopback() };
                let (handler, stop, tls) = (handler.clone(), stop.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => connection(stream, handler, peer, stop).await,
                        // Boxed: connections without TLS do not take its size.
                        Some(tls) => {
                            Box::pin(tls_connection(tls, stream, handler, peer, stop)).await;
                        }
                    }
                    drop(slot);
                });
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Serves the agents' Unix socket until the daemon stops.
pub async fn serve_unix(
    listener: UnixListener,
    handler: impl RequestHandler + Sync,
    limit: usize,
    mut stop: Stop,
) {
    let connections = Arc::new(Semaphore::new(limit));
    loop {
        let Ok(slot) = Arc::clone(&connections).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => return,
        };
        match accepted {
            // A caller without credentials from the kernel is not served.
            Ok((stream, _)) => {
                let Ok(credentials) = stream.peer_cred() else { continue };
                let peer = Peer::User(credentials.uid());
                let (handler, stop) = (handler.clone(), stop.clone());
                tokio::spawn(async move {
                    connection(stream, handler, peer, stop).await;
                    drop(slot);
                });
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Pauses after a failed accept: without file descriptors, trying again at once only burns time.
async fn pause_after(error: &io::Error) {
    tracing::warn!(%error, "a connection was not accepted");
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// A connection that begins with a handshake. A caller that does not complete it in time, or speaks
/// something else, is disconnected.
async fn tls_connection(
    tls: TlsAcceptor,
    stream: TcpStream,
    handler: impl RequestHandler,
    peer: Peer,
    stop: Stop,
) {
    let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, async {
        if plain_http::is_spoken(&stream).await {
            plain_http::refuse(stream).await;
            return None;
        }
        tls.accept(stream).await.ok()
    });
    if let Ok(Some(stream)) = handshake.await {
        connection(stream, handler, peer, stop).await;
    }
}

async fn connection<S>(stream: S, handler: impl RequestHandler, peer: Peer, mut stop: Stop)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let handling = handler.handle(request, peer);
        async { Ok::<_, std::convert::Infallible>(handling.await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(served);
    // A caller that disconnects or sends garbage ends its own connection and nothing else.
    tokio::select! {
        _ = served.as_mut() => {}
        () = stopped(&mut stop) => {
            served.as_mut().graceful_shutdown();
            let _ = served.await;
        }
    }
}

#[cfg(test)]
mod tests;
