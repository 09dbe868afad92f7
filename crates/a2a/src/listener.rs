//! Accepts connections: mutual TLS first, HTTP only for a peer with an accepted certificate.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use countersign_tls::FleetTrust;
use countersign_tls::rustls::ServerConfig;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

use crate::descriptors::connection_limit;
use crate::peer::Connection;
use crate::write_timeout::WriteTimeout;

/// How long a handshake and the headers of a request may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADER_BYTES: usize = 32 << 10;
/// A peer that reads nothing of a response or stream for so long is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);
/// The most connections, and the most of one peer.
const MAX_CONNECTIONS: usize = 2048;
const MAX_OF_PEER: usize = 1024;

/// How many connections each peer has.
type PeerCounts = Arc<Mutex<HashMap<String, usize>>>;

/// Listens and serves until the process ends.
pub async fn serve_node(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    trust: Arc<FleetTrust>,
    routes: Router,
) -> Infallible {
    let acceptor = TlsAcceptor::from(tls);
    let slots = Arc::new(Semaphore::new(connection_limit(MAX_CONNECTIONS)));
    let counts = PeerCounts::default();
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            std::future::pending::<()>().await;
            continue;
        };
        match listener.accept().await {
            Ok((stream, from)) => {
                let _ = stream.set_nodelay(true);
                let stream = WriteTimeout::new(stream, WRITE_TIMEOUT);
                let (acceptor, trust) = (acceptor.clone(), Arc::clone(&trust));
                let (routes, counts) = (routes.clone(), Arc::clone(&counts));
                tokio::spawn(async move {
                    accept(acceptor, stream, from, &trust, routes, &counts).await;
                    drop(slot);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

async fn accept(
    acceptor: TlsAcceptor,
    stream: WriteTimeout<TcpStream>,
    from: SocketAddr,
    trust: &Arc<FleetTrust>,
    routes: Router,
    counts: &PeerCounts,
) {
    let stream = match tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::info!(%from, %error, "a connection was refused");
            return;
        }
        Err(_) => return,
    };
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let Some(peer) = Connection::of(chain, trust) else { return };
    let Some(_counted) = CountedPeer::enter(counts, peer.agent()) else {
        tracing::warn!(peer = peer.agent(), "too many connections of one peer");
        return;
    };
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer.clone());
        routes.clone().call(request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // A peer that disconnects or sends garbage ends its own connection and nothing else.
    let _ = served.await;
}

/// One counted connection of a peer.
struct CountedPeer {
    counts: PeerCounts,
    agent: String,
}

impl CountedPeer {
    fn enter(counts: &PeerCounts, agent: &str) -> Option<CountedPeer> {
        let mut all = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(agent.to_owned()).or_default();
        if *count >= MAX_OF_PEER {
            return None;
        }
        *count += 1;
        Some(CountedPeer { counts: Arc::clone(counts), agent: agent.to_owned() })
    }
}

impl Drop for CountedPeer {
    fn drop(&mut self) {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.agent) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.agent);
            }
        }
    }
}
