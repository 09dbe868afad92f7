//! One HTTP exchange: with the address that was looked at, without redirects and without proxies.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HOST, RETRY_AFTER};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::ChannelError;
use crate::address::is_public;

/// The longest time another side may ask us to wait.
const LONGEST_PAUSE: u64 = 3600;
/// The longest body that is read.
const LONGEST_BODY: usize = 1 << 20;

/// A place on the network.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    host: String,
    port: u16,
    secure: bool,
    authority: String,
    path: String,
}

/// What came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// When it is worth trying again, if it says so.
    pub retry_after: Option<Duration>,
}

impl Answer {
    /// Whether it was taken, and if not, whether it is worth trying again.
    pub fn judge(&self, who: &str) -> Result<(), ChannelError> {
        let status = self.status;
        match status {
            200..=299 => Ok(()),
            300..=399 => Err(ChannelError::permanent(format!(
                "{who} answered {status}: it sends us elsewhere, which is not followed"
            ))),
            408 | 409 | 425 | 429 | 500.. => Err(ChannelError {
                problem: format!("{who} answered {status}"),
                retry_after: self.retry_after,
                permanent: false,
            }),
            _ => Err(ChannelError::permanent(format!("{who} answered {status}"))),
        }
    }
}

/// Without the path: for some platforms it holds a secret.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.authority)
    }
}

impl Target {
    /// Reads a URL; the error says what is wrong with it.
    pub fn parse(url: &str) -> Result<Target, &'static str> {
        let uri: Uri = url.parse().map_err(|_| "this is no URL")?;
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("the URL must begin with https:// or http://"),
        };
        let authority = uri.authority().ok_or("the URL names no host")?;
        if authority.as_str().contains('@') {
            return Err("a name or password in the URL would be shown: use the secret file");
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err("the URL names no host");
        }
        Ok(Target {
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(if secure { 443 } else { 80 }),
            secure,
            authority: authority.to_string(),
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        })
    }

    /// Scheme, host and port, as pages know it.
    pub fn origin(&self) -> String {
        format!("{}://{}", if self.secure { "https" } else { "http" }, self.authority)
    }

    /// The same place with another path, and perhaps a query.
    #[must_use]
    pub fn at(&self, path: &str) -> Target {
        let base = self.path.split('?').next().unwrap_or_default().trim_end_matches('/');
        Target { path: format!("{base}{path}"), ..self.clone() }
    }

    /// The addresses behind the name, as they are now. The one that was checked is the one that
    /// is used: a name that changes its answer in between gains nothing.
    async fn addresses(&self, allow_private: bool) -> Result<Vec<SocketAddr>, ChannelError> {
        let found = tokio::net::lookup_host((self.host.as_str(), self.port))
            .await
            .map_err(|_| ChannelError::again("the host's name is not known"))?;
        let mut addresses: Vec<SocketAddr> = found.collect();
        if !allow_private {
            addresses.retain(|address| is_public(address.ip()));
            if addresses.is_empty() {
                return Err(ChannelError::permanent(
                    "the host is this machine or in a private network; \
                     `allow_private = true` would allow that",
                ));
            }
        }
        Ok(addresses)
    }
}

/// Posts a body; the whole must be over in time.
pub async fn post(
    target: &Target,
    allow_private: bool,
    headers: &[(&str, &str)],
    body: String,
    time: Duration,
) -> Result<Answer, ChannelError> {
    post_bytes(target, allow_private, headers, body.into_bytes(), time).await
}

/// The same with a body that is no text.
pub async fn post_bytes(
    target: &Target,
    allow_private: bool,
    headers: &[(&str, &str)],
    body: Vec<u8>,
    time: Duration,
) -> Result<Answer, ChannelError> {
    let asked = Asked { method: "POST", headers, body: String::new() };
    // What a receiver has to say beside its status is not waited for.
    within(target, allow_private, (asked, body), time, false).await.map(|said| said.answer)
}

/// What is asked of the other side.
#[derive(Debug)]
pub struct Asked<'a> {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'a str,
    /// Its headers.
    pub headers: &'a [(&'a str, &'a str)],
    /// Its body; empty for none.
    pub body: String,
}

/// What came back, with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidBack {
    /// Status and pause.
    pub answer: Answer,
    /// The body, at most `LONGEST_BODY` bytes of it.
    pub body: Vec<u8>,
}

/// One exchange; the whole must be over in time.
pub async fn exchange(
    target: &Target,
    allow_private: bool,
    asked: Asked<'_>,
    time: Duration,
) -> Result<SaidBack, ChannelError> {
    let mut asked = asked;
    let body = std::mem::take(&mut asked.body).into_bytes();
    within(target, allow_private, (asked, body), time, true).await
}

async fn within(
    target: &Target,
    allow_private: bool,
    (asked, body): (Asked<'_>, Vec<u8>),
    time: Duration,
    to_its_end: bool,
) -> Result<SaidBack, ChannelError> {
    let sending = async {
        let stream = connect(target, allow_private).await?;
        let mut request = Request::builder()
            .method(asked.method)
            .uri(&target.path)
            .header(HOST, &target.authority);
        for (name, value) in asked.headers {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| ChannelError::permanent("the message cannot be written as HTTP"))?;
        if target.secure {
            speak(secured(target, stream).await?, request, to_its_end).await
        } else {
            speak(stream, request, to_its_end).await
        }
    };
    match tokio::time::timeout(time, sending).await {
        Ok(answer) => answer,
        Err(_) => Err(ChannelError::again("no answer in time")),
    }
}

/// The same connection, from now on secret and with the host that was meant.
pub(crate) async fn secured(
    target: &Target,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, ChannelError> {
    let name = ServerName::try_from(target.host.clone())
        .map_err(|_| ChannelError::permanent("no certificate can be for this host"))?;
    tls().await?.connect(name, stream).await.map_err(broken)
}

/// A connection to the first address that takes it.
pub(crate) async fn connect(
    target: &Target,
    allow_private: bool,
) -> Result<TcpStream, ChannelError> {
    let mut newest = ChannelError::again("the host has no address");
    for address in target.addresses(allow_private).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => newest = broken(error),
        }
    }
    Err(newest)
}

async fn speak<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    to_its_end: bool,
) -> Result<SaidBack, ChannelError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let lost = |_: hyper::Error| ChannelError::again("the connection broke");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
    // Ends with this function, whatever the other side still wants to say.
    let mut driven = JoinSet::new();
    driven.spawn(connection);
    let response = sender.send_request(request).await.map_err(lost)?;
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok())
        .map(|seconds| Duration::from_secs(seconds.min(LONGEST_PAUSE)));
    let answer = Answer { status: response.status().as_u16(), retry_after };
    if !to_its_end {
        return Ok(SaidBack { answer, body: Vec::new() });
    }
    let body = Limited::new(response.into_body(), LONGEST_BODY).collect().await;
    let body = body.map_err(|_| ChannelError::again("the answer broke off or is too long"))?;
    Ok(SaidBack { answer, body: body.to_bytes().to_vec() })
}

#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
pub(crate) fn broken(error: io::Error) -> ChannelError {
    let problem = match error.kind() {
        io::ErrorKind::ConnectionRefused => "nobody listens there",
        io::ErrorKind::InvalidData => "the certificate is not good, or this is no TLS",
        _ => "the connection broke",
    };
    ChannelError::again(problem)
}

/// The certificates that this machine trusts, read once.
async fn tls() -> Result<TlsConnector, ChannelError> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(TlsConnector::from(Arc::clone(config)));
    }
    let failed = || ChannelError::again("this machine's certificates cannot be read");
    let loaded = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs);
    let loaded = loaded.await.map_err(|_| failed())?;
    let mut roots = RootCertStore::empty();
    if roots.add_parsable_certificates(loaded.certs).0 == 0 {
        return Err(failed());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| failed())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::clone(CONFIG.get_or_init(|| Arc::new(config)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_without_passwords_are_targets() {
        let good = Target::parse("https://example.org:8443/a?b=c").unwrap();
        assert_eq!((good.host.as_str(), good.port, good.secure), ("example.org", 8443, true));
        assert_eq!(good.path, "/a?b=c");
        assert_eq!(Target::parse("http://[::1]").unwrap().host, "::1");
        for bad in [
            "",
            "example.org",
            "/path",
            "file:///etc/passwd",
            "ftp://example.org",
            "gopher://x/",
            "http://",
            "https://u:p@example.org/",
            "http://exa mple.org/",
            "unix:/run/x",
        ] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }
}
