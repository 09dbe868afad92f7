//! Listeners: accept connections, pass requests to a handler, and stop in order.
//!
//! hyper's plain HTTP/1 builder serves each connection: thousands of callers wait at once, and it
//! needs half the memory per connection of the builder that detects the protocol.

mod connections;
mod plain_http;
mod received_body;

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener};
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

pub use self::connections::ConnectionUse;
use self::connections::{Connections, OpenConnection};
pub use self::received_body::ReceivedBody;
use crate::config::SocketConfig;
use crate::shutdown::{Stop, stopped};

/// How long a caller may take for its TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 10 });
/// How long a caller may take to send its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest headers; also the most that is read ahead for a caller.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// How long to wait after a failed accept: without file descriptors, trying again at once only
/// burns time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
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
        request: hyper::Request<ReceivedBody>,
        peer: Peer,
    ) -> impl Future<Output = Response> + Send + use<Self>;
}

impl RequestHandler for Router {
    fn handle(
        &self,
        request: hyper::Request<ReceivedBody>,
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
/// still in their handshake included. Further ones take the places of those that are not in use.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    handler: impl RequestHandler + Sync,
    limit: usize,
    mut stop: Stop,
) {
    let connections = Connections::new(limit);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => return,
        };
        let Ok((stream, from)) = accepted.inspect_err(log_failed_accept) else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let open = tokio::select! {
            open = connections.admit() => open,
            () = stopped(&mut stop) => return,
        };
        // Responses are small: waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let peer = Peer::Network { local: from.ip().to_canonical().is_loopback() };
        let (handler, stop, tls) = (handler.clone(), stop.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => connection(stream, handler, peer, (&open, stop)).await,
                // Boxed: connections without TLS do not take its size.
                Some(tls) => {
                    Box::pin(tls_connection(tls, stream, handler, peer, (&open, stop))).await;
                }
            }
        });
    }
}

/// Serves the agents' Unix socket until the daemon stops.
pub async fn serve_unix(
    listener: UnixListener,
    handler: impl RequestHandler + Sync,
    limit: usize,
    mut stop: Stop,
) {
    let connections = Connections::new(limit);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => return,
        };
        let Ok((stream, _)) = accepted.inspect_err(log_failed_accept) else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // A caller without credentials from the kernel is not served.
        let Ok(credentials) = stream.peer_cred() else { continue };
        let open = tokio::select! {
            open = connections.admit() => open,
            () = stopped(&mut stop) => return,
        };
        let peer = Peer::User(credentials.uid());
        let (handler, stop) = (handler.clone(), stop.clone());
        tokio::spawn(async move { connection(stream, handler, peer, (&open, stop)).await });
    }
}

fn log_failed_accept(error: &io::Error) {
    tracing::warn!(%error, "a connection was not accepted");
}

/// A connection that begins with a handshake. A caller that does not complete it in time, or speaks
/// something else, is disconnected.
async fn tls_connection(
    tls: TlsAcceptor,
    stream: TcpStream,
    handler: impl RequestHandler,
    peer: Peer,
    (open, stop): (&OpenConnection, Stop),
) {
    let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, async {
        if plain_http::is_spoken(&stream).await {
            plain_http::refuse(stream).await;
            return None;
        }
        tls.accept(stream).await.ok()
    });
    let handshaken = tokio::select! {
        done = handshake => done,
        () = open.closed() => return,
    };
    if let Ok(Some(stream)) = handshaken {
        connection(stream, handler, peer, (open, stop)).await;
    }
}

async fn connection<S>(
    stream: S,
    handler: impl RequestHandler,
    peer: Peer,
    (open, mut stop): (&OpenConnection, Stop),
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let usage = open.usage();
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let handling = handle(&handler, request, peer, &usage);
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
        () = open.closed() => {}
        () = stopped(&mut stop) => {
            served.as_mut().graceful_shutdown();
            let _ = served.await;
        }
    }
}

/// Handles one request, and says meanwhile that its connection is in use.
fn handle<H: RequestHandler>(
    handler: &H,
    request: hyper::Request<Incoming>,
    peer: Peer,
    usage: &ConnectionUse,
) -> impl Future<Output = Response> + Send + use<H> {
    let is_complete = request.body().is_end_stream();
    let may_be_handled = !is_complete || usage.received();
    let handling = may_be_handled.then(|| {
        let mut request = request.map(|body| ReceivedBody::new(body, usage.clone()));
        request.extensions_mut().insert(usage.clone());
        handler.handle(request, peer)
    });
    let usage = usage.clone();
    async move {
        let Some(handling) = handling else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        let response = handling.await;
        usage.handled();
        response
    }
}

#[cfg(test)]
mod tests;
