//! The client against real sockets: bounds, private addresses, TLS names, proxies.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_net::{Client, HttpReply, HttpRequest, HttpUrl, MAX_BODY, NetError};
use countersign_net::{Options, ProxyRules};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

const LONG: Duration = Duration::from_secs(10);
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// The heads of all requests that a server got.
type Heads = Arc<Mutex<Vec<String>>>;

async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

/// Answers every request of a connection with the same text.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, heads: Heads, text: String) {
    while let Some(head) = read_head(&mut stream).await {
        heads.lock().unwrap().push(head);
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
        let _ = stream.flush().await;
    }
}

/// A server without TLS; its port and what it was asked. Connections are counted in the third.
async fn server(text: &str) -> (u16, Heads, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (heads, connections) = (Heads::default(), Arc::new(Mutex::new(0)));
    let (keep, count, text) = (Arc::clone(&heads), Arc::clone(&connections), text.to_owned());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            *count.lock().unwrap() += 1;
            tokio::spawn(answer(stream, Arc::clone(&keep), text.clone()));
        }
    });
    (port, heads, connections)
}

/// A server with a certificate for one name, and a client configuration that trusts it.
async fn tls_server(name: &str) -> (u16, Heads, Arc<ClientConfig>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Heads::default();
    let keep = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, keep) = (acceptor.clone(), Arc::clone(&keep));
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    answer(stream, keep, OK.to_owned()).await;
                }
            });
        }
    });
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let trusting = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (port, heads, Arc::new(trusting))
}

/// A proxy that knows CONNECT and sends every tunnel to one port of this machine. The status is
/// what it answers with.
async fn tunnel_proxy(to: u16, status: &'static str) -> (u16, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Heads::default();
    let keep = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let keep = Arc::clone(&keep);
            tokio::spawn(async move {
                let head = read_head(&mut stream).await.unwrap();
                keep.lock().unwrap().push(head);
                let line = format!("HTTP/1.1 {status}\r\n\r\n");
                stream.write_all(line.as_bytes()).await.unwrap();
                let mut server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    });
    (port, heads)
}

fn options(allow_private: bool) -> Options {
    Options { proxy: ProxyRules::none(), ..Options::new(allow_private) }
}

async fn post(client: &Client, url: &str, timeout: Duration) -> Result<HttpReply, NetError> {
    let url = HttpUrl::parse(url).unwrap();
    let headers = [("content-type", "text/plain")];
    let request = HttpRequest { method: "POST", url: &url, headers: &headers, body: Vec::new() };
    client.exchange(request, timeout).await
}

#[tokio::test]
async fn private_addresses_are_refused_after_resolution_and_before_any_connection() {
    let (port, _, connections) = server(OK).await;
    let client = Client::with_options(options(false));
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433"] {
        let refused = post(&client, &format!("http://{host}:{port}/"), LONG).await;
        assert_eq!(refused, Err(NetError::PrivateAddress), "{host}");
        assert!(post(&client, &format!("https://{host}:{port}/"), LONG).await.is_err(), "{host}");
    }
    assert_eq!(*connections.lock().unwrap(), 0);
    let client = Client::with_options(options(true));
    let reply = post(&client, &format!("http://localhost:{port}/"), LONG).await.unwrap();
    assert_eq!((reply.status, reply.body.as_slice()), (200, b"hi".as_slice()));
}

#[tokio::test]
async fn a_response_is_bounded_in_size_and_time() {
    let client = Client::with_options(options(true));
    let head = "HTTP/1.1 200 OK\r\n\r\n";
    let (port, ..) = server(&format!("{head}{}", "x".repeat(MAX_BODY + 1))).await;
    let long = post(&client, &format!("http://127.0.0.1:{port}/"), LONG).await;
    assert_eq!(long, Err(NetError::TooLarge(MAX_BODY)));
    // A body that never ends, and a server that says nothing at all.
    let short = Duration::from_millis(200);
    for text in ["HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", ""] {
        let (port, ..) = server(text).await;
        let late = post(&client, &format!("http://127.0.0.1:{port}/"), short).await;
        assert_eq!(late, Err(NetError::TimedOut(short)), "{text:?}");
    }
    // Where only the status is wanted, the body is not waited for.
    let (port, ..) = server("HTTP/1.1 202 OK\r\ncontent-length: 100\r\n\r\n").await;
    let url = HttpUrl::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
    let request = HttpRequest { method: "POST", url: &url, headers: &[], body: b"x".to_vec() };
    assert_eq!(client.exchange_status(request, LONG).await.unwrap().status, 202);
}

#[tokio::test]
async fn redirects_are_returned_and_pauses_are_bounded() {
    let (port, heads, _) = server(
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\nretry-after: 99999\r\n\
         content-length: 0\r\n\r\n",
    )
    .await;
    let client = Client::with_options(options(true));
    let reply = post(&client, &format!("http://127.0.0.1:{port}/a?b=c"), LONG).await.unwrap();
    assert_eq!((reply.status, reply.retry_after), (302, Some(Duration::from_hours(1))));
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with("POST /a?b=c HTTP/1.1\r\n"), "{heads:?}");
    assert!(heads[0].contains(&format!("host: 127.0.0.1:{port}\r\n")), "{heads:?}");
}

#[tokio::test]
async fn connections_are_kept_only_where_that_is_asked_for() {
    for (idle_connections, wanted) in [(0, 3), (4, 1)] {
        let (port, _, connections) = server(OK).await;
        let client = Client::with_options(Options { idle_connections, ..options(true) });
        for _ in 0..3 {
            post(&client, &format!("http://127.0.0.1:{port}/"), LONG).await.unwrap();
        }
        assert_eq!(*connections.lock().unwrap(), wanted, "{idle_connections}");
    }
}

#[tokio::test]
async fn a_certificate_must_be_trusted_and_for_the_host() {
    let (port, heads, trusting) = tls_server("localhost").await;
    let url = format!("https://localhost:{port}/");
    let client = |tls: &Arc<ClientConfig>| Options { tls: Some(Arc::clone(tls)), ..options(true) };
    let good = Client::with_options(client(&trusting));
    assert_eq!(post(&good, &url, LONG).await.unwrap().status, 200);
    // The same certificate under an address that it is not for.
    let wrong = post(&good, &format!("https://127.0.0.1:{port}/"), LONG).await.unwrap_err();
    assert!(matches!(&wrong, NetError::Tls(why) if why.contains("another host")), "{wrong}");
    let (other, _, trusting_other) = tls_server("other.example.org").await;
    let client = Client::with_options(client(&trusting_other));
    let wrong = post(&client, &format!("https://localhost:{other}/"), LONG).await.unwrap_err();
    assert!(matches!(&wrong, NetError::Tls(why) if why.contains("another host")), "{wrong}");
    let unknown = post(&client, &url, LONG).await.unwrap_err();
    assert!(matches!(&unknown, NetError::Tls(why) if why.contains("certificate")), "{unknown}");
    // A server that does not speak TLS.
    let (plain, ..) = server(OK).await;
    let url = format!("https://localhost:{plain}/");
    let silent = post(&good, &url, Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(silent, NetError::Tls(_) | NetError::TimedOut(_)), "{silent}");
    assert_eq!(heads.lock().unwrap().len(), 1, "nothing was sent to the wrong host");
}

#[tokio::test]
async fn https_goes_through_a_tunnel_of_the_proxy() {
    let (port, heads, trusting) = tls_server("api.countersign.invalid").await;
    let (proxy, asked) = tunnel_proxy(port, "200 Connection established").await;
    let rules = ProxyRules::all(&format!("http://user:pass@127.0.0.1:{proxy}"), "");
    // Only the proxy knows the name; private addresses stay refused, but the proxy may have one.
    let client =
        Client::with_options(Options { proxy: rules, tls: Some(trusting), ..options(false) });
    let reply = post(&client, "https://api.countersign.invalid/x", LONG).await.unwrap();
    assert_eq!(reply.body, b"hi");
    let asked = asked.lock().unwrap().clone();
    assert!(asked[0].starts_with("CONNECT api.countersign.invalid:443 HTTP/1.1\r\n"), "{asked:?}");
    assert!(asked[0].contains("Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"), "{asked:?}");
    let heads = heads.lock().unwrap().clone();
    assert!(heads[0].starts_with("POST /x HTTP/1.1\r\n"), "{heads:?}");
    assert!(!heads[0].to_lowercase().contains("proxy-authorization"), "{heads:?}");
    for private in ["https://10.0.0.1/", "https://169.254.169.254/", "http://192.168.1.1/"] {
        assert_eq!(post(&client, private, LONG).await, Err(NetError::PrivateAddress));
    }
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_as_the_cause() {
    let (port, _, trusting) = tls_server("api.countersign.invalid").await;
    for status in ["407 Proxy Authentication Required", "502 Bad Gateway"] {
        let (proxy, _) = tunnel_proxy(port, status).await;
        let rules = ProxyRules::all(&format!("http://127.0.0.1:{proxy}"), "");
        let tls = Some(Arc::clone(&trusting));
        let client = Client::with_options(Options { proxy: rules, tls, ..options(true) });
        let refused = post(&client, "https://api.countersign.invalid/", LONG).await.unwrap_err();
        assert!(matches!(refused, NetError::Proxy(_)), "{refused}");
    }
    for proxy in ["http://127.0.0.1:1", "https://127.0.0.1:1", "socks4://127.0.0.1:1"] {
        let rules = ProxyRules::all(proxy, "");
        let client = Client::with_options(Options { proxy: rules, ..options(true) });
        let refused = post(&client, "http://api.countersign.invalid/", LONG).await.unwrap_err();
        assert!(matches!(refused, NetError::Proxy(_)), "{refused}");
    }
}

#[tokio::test]
async fn http_reaches_the_proxy_with_the_whole_url() {
    let (proxy, heads, _) = server(OK).await;
    let rules = ProxyRules::all(&format!("http://user:pass@127.0.0.1:{proxy}"), "");
    let client = Client::with_options(Options { proxy: rules, ..options(true) });
    post(&client, "http://api.countersign.invalid:8080/x?y=z", LONG).await.unwrap();
    let heads = heads.lock().unwrap();
    let line = "POST http://api.countersign.invalid:8080/x?y=z HTTP/1.1\r\n";
    assert!(heads[0].starts_with(line), "{heads:?}");
    assert!(heads[0].contains("proxy-authorization: Basic dXNlcjpwYXNz\r\n"), "{heads:?}");
    assert!(heads[0].contains("host: api.countersign.invalid:8080\r\n"), "{heads:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_ends_the_tls_handshake_is_given_up_on() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (_, _, tls) = tls_server("localhost").await;
    let client = Client::with_options(Options { tls: Some(tls), ..Options::new(true) });
    let request = hyper::Request::post(format!("https://localhost:{port}/"));
    let request = request.body(http_body_util::Full::default()).unwrap();
    // Nothing but the time limit ends this: no one answers the handshake.
    let sent = client.send(request).await;
    assert!(matches!(sent, Err(NetError::TimedOut(_))), "{sent:?}");
    drop(listener);
}
