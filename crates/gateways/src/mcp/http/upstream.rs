//! The server behind an HTTP proxy: one origin, connections kept for the next request.

use std::sync::{Arc, Mutex, OnceLock};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::mcp::session::lock;

/// So many connections are kept while nobody uses them.
const KEPT: usize = 16;

type Sender = SendRequest<Full<Bytes>>;

/// Where the server is.
pub struct Upstream {
    host: String,
    port: u16,
    secure: bool,
    authority: HeaderValue,
    /// The path of the MCP endpoint.
    pub path: String,
    idle: Mutex<Vec<Sender>>,
    tls: OnceLock<TlsConnector>,
}

impl Upstream {
    /// From its URL; the error says what is wrong with it.
    pub fn parse(url: &str) -> Result<Upstream, String> {
        let uri: Uri = url.parse().map_err(|_| "this is no URL".to_owned())?;
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("the URL must begin with https:// or http://".to_owned()),
        };
        let authority = uri.authority().ok_or("the URL names no host")?;
        if authority.as_str().contains('@') {
            return Err("a password in the URL would be shown".to_owned());
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let written = HeaderValue::from_str(authority.as_str());
        Ok(Upstream {
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(if secure { 443 } else { 80 }),
            secure,
            authority: written.map_err(|_| "the URL names no host")?,
            path: uri.path().to_owned(),
            idle: Mutex::default(),
            tls: OnceLock::new(),
        })
    }

    /// One exchange; the answer's body is still to come.
    pub async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, String> {
        request.headers_mut().insert(HOST, self.authority.clone());
        loop {
            let kept = self.take();
            let is_new = kept.is_none();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.connect().await?,
            };
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let mut idle = lock(&self.idle);
                    if idle.len() < KEPT {
                        idle.push(sender);
                    }
                    return Ok(response);
                }
                // A kept connection may be gone; what was not sent can be sent again.
                Err(mut error) => match error.take_message() {
                    Some(unsent) if !is_new => request = unsent,
                    _ => return Err(format!("the connection broke: {}", error.error())),
                },
            }
        }
    }

    fn take(&self) -> Option<Sender> {
        let mut idle = lock(&self.idle);
        idle.retain(|sender| !sender.is_closed());
        let free = idle.iter().position(SendRequest::is_ready)?;
        Some(idle.swap_remove(free))
    }

    async fn connect(&self) -> Result<Sender, String> {
        let to = (self.host.as_str(), self.port);
        let stream = TcpStream::connect(to).await.map_err(|error| error.to_string())?;
        let _ = stream.set_nodelay(true);
        if !self.secure {
            return open(stream).await;
        }
        let name = ServerName::try_from(self.host.clone()).map_err(|error| error.to_string())?;
        let tls = if let Some(tls) = self.tls.get() {
            tls.clone()
        } else {
            let tls = trusted()?;
            self.tls.get_or_init(|| tls).clone()
        };
        open(tls.connect(name, stream).await.map_err(|error| error.to_string())?).await
    }
}

async fn open<S>(stream: S) -> Result<Sender, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let made = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = made.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    Ok(sender)
}

/// The certificates that this machine trusts.
fn trusted() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    let loaded = rustls_native_certs::load_native_certs();
    if roots.add_parsable_certificates(loaded.certs).0 == 0 {
        return Err("this machine's certificates cannot be read".to_owned());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
