//! TLS of a listener: limits hold during the handshake, and plain HTTP gets no response. A full
//! listener: who makes room.

use std::sync::Arc;

use axum::routing::{get, post};
use countersign_tls::{
    ClientTls, KeyPin, ServerIdentity, TlsTrust, generate_key, issue_certificate, server_config,
};
use countersign_types::time::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::*;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// A listener with room for so many connections, its address and the pin of its key.
struct TlsListener {
    address: std::net::SocketAddr,
    pin: KeyPin,
    _stop: watch::Sender<bool>,
}

impl TlsListener {
    fn start(limit: usize) -> TlsListener {
        let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
        let key = generate_key().unwrap();
        let names = ["localhost".to_owned()];
        let certificate = issue_certificate(&key, &names, Timestamp(now)).unwrap();
        let identity = ServerIdentity::from_der(&key, &certificate).unwrap();
        let pin = identity.pin().unwrap();
        let tls = TlsAcceptor::from(server_config(Arc::new(identity)).unwrap());
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopping) = watch::channel(false);
        let router: Router = Router::new().route("/", get(|| async { "served" }));
        tokio::spawn(serve(listener, Some(tls), router, limit, stopping));
        TlsListener { address, pin, _stop: stop }
    }

    async fn get(&self) -> String {
        let tls = ClientTls::new(&TlsTrust::Pin(self.pin)).unwrap();
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = TlsConnector::from(tls.config()).connect(name, stream).await.unwrap();
        stream.write_all(REQUEST).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }
}

#[tokio::test]
async fn a_request_over_tls_is_served() {
    let listener = TlsListener::start(4);
    assert!(listener.get().await.ends_with("served"));
}

#[tokio::test]
async fn plain_http_is_told_to_use_https_and_served_nothing() {
    let listener = TlsListener::start(4);
    let mut stream = TcpStream::connect(listener.address).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    let response = String::from_utf8(bytes).unwrap();
    assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
    assert!(response.contains("application/problem+json") && response.contains("https only"));
    assert!(!response.contains("served"), "{response}");
}

#[tokio::test]
async fn silent_callers_do_not_keep_the_listener() {
    let listener = TlsListener::start(2);
    let mut silent = Vec::new();
    for _ in 0..2 {
        silent.push(TcpStream::connect(listener.address).await.unwrap());
    }
    // The time-out of the handshake frees the places.
    assert!(listener.get().await.ends_with("served"));
    for mut stream in silent {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        assert!(bytes.is_empty());
    }
}

/// A test that takes longer than this hangs.
const HANG: Duration = Duration::from_mins(1);

async fn sent(address: std::net::SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

async fn response(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(HANG, stream.read_to_end(&mut bytes)).await;
    let _ = read.expect("the connection was not served");
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn slow_bodies_make_room_and_handled_requests_and_signed_in_people_do_not() {
    let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let (_stop, stopping) = watch::channel(false);
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, goes) = (Arc::clone(&begun), Arc::clone(&go));
    let wait = async move || {
        begins.notify_one();
        goes.notified().await;
        "waited"
    };
    let sign_in = async |request: axum::extract::Request| {
        request.extensions().get::<ConnectionUse>().unwrap().signed_in();
        let _ = axum::body::to_bytes(request.into_body(), 64).await;
        "signed in"
    };
    let router: Router = Router::new()
        .route("/", get(|| async { "served" }).post(|body: String| async { body }))
        .route("/wait", get(wait))
        .route("/person", post(sign_in));
    tokio::spawn(serve(listener, None, router, 3, stopping));
    let waits = sent(address, "GET /wait HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    begun.notified().await;
    let slow = "HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 3\r\n\r\na";
    let mut person = sent(address, &format!("POST /person {slow}")).await;
    let mut trickles = Vec::new();
    for _ in 0..20 {
        trickles.push(sent(address, &format!("POST / {slow}")).await);
        let served = response(sent(address, std::str::from_utf8(REQUEST).unwrap()).await).await;
        assert!(served.ends_with("served"), "{served}");
    }
    go.notify_one();
    assert!(response(waits).await.ends_with("waited"));
    person.write_all(b"bc").await.unwrap();
    assert!(response(person).await.ends_with("signed in"));
    assert_eq!(response(trickles.swap_remove(0)).await, "", "the oldest one was closed");
}
