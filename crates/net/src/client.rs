//! The HTTP client: one exchange with a deadline and a bounded response, or a streamed response.
//!
//! Redirects are never followed: they are returned like every other response.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION, RETRY_AFTER};
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::OnceCell;
use tokio_rustls::rustls::ClientConfig;

use crate::proxy::{Connector, ProxyRules};
use crate::time_limit::TimeLimited;
use crate::{HttpUrl, NetError, tls};

/// The longest response body that [`Client::exchange`] reads, in bytes.
pub const MAX_BODY: usize = 1 << 20;
/// The longest pause that a server may ask for with `Retry-After`, in seconds.
const MAX_PAUSE: u64 = 3600;
/// How long an unused connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// How a client connects.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// Unused connections that are kept for each host. None are kept where this is 0.
    pub idle_connections: usize,
    /// Which requests go through a proxy.
    pub proxy: ProxyRules,
    /// Another TLS configuration than this machine's trusted certificates.
    pub tls: Option<Arc<ClientConfig>>,
}

impl Options {
    /// The usual: proxies of the environment, trusted certificates of this machine, no connection
    /// kept.
    pub fn new(allow_private: bool) -> Options {
        let proxy = ProxyRules::from_environment();
        Options { allow_private, idle_connections: 0, proxy, tls: None }
    }
}

/// One request.
#[derive(Debug)]
pub struct HttpRequest<'a> {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'a str,
    /// Where it goes.
    pub url: &'a HttpUrl,
    /// Its headers; `Host` and the length are added.
    pub headers: &'a [(&'a str, &'a str)],
    /// Its body; empty for none.
    pub body: Vec<u8>,
}

/// The response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// How long the server asks to be left alone (`Retry-After` in seconds), at most an hour.
    pub retry_after: Option<Duration>,
    /// The body, where it was read.
    pub body: Vec<u8>,
}

type Plain = legacy::Client<Connector, Full<Bytes>>;
type Secure = legacy::Client<TimeLimited<HttpsConnector<Connector>>, Full<Bytes>>;

/// An HTTP/1.1 client. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    options: Arc<Options>,
    plain: Plain,
    secure: Arc<OnceCell<Secure>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Client {
    /// A client with the usual options.
    pub fn new(allow_private: bool) -> Client {
        Client::with_options(Options::new(allow_private))
    }

    /// A client with these options.
    pub fn with_options(options: Options) -> Client {
        let plain = builder(&options).build(connector(&options));
        Client { options: Arc::new(options), plain, secure: Arc::default() }
    }

    /// Sends a request and reads the response; everything must be over before the timeout.
    pub async fn exchange(
        &self,
        request: HttpRequest<'_>,
        timeout: Duration,
    ) -> Result<HttpReply, NetError> {
        let exchange = async {
            let response = self.send(build(request)?).await?;
            let (status, retry_after) = head(&response);
            let body = Limited::new(response.into_body(), MAX_BODY).collect().await;
            let body = body.map_err(|error| {
                let too_large = error.downcast_ref::<LengthLimitError>().is_some();
                if too_large { NetError::TooLarge(MAX_BODY) } else { NetError::Closed }
            })?;
            Ok(HttpReply { status, retry_after, body: body.to_bytes().to_vec() })
        };
        within(timeout, exchange).await
    }

    /// Sends a request and returns when the status has arrived; the response's body is not read.
    pub async fn exchange_status(
        &self,
        request: HttpRequest<'_>,
        timeout: Duration,
    ) -> Result<HttpReply, NetError> {
        let exchange = async {
            let response = self.send(build(request)?).await?;
            let (status, retry_after) = head(&response);
            Ok(HttpReply { status, retry_after, body: Vec::new() })
        };
        within(timeout, exchange).await
    }

    /// Sends a request with an absolute URL and returns when the response's headers have arrived.
    /// The caller bounds the body and the time; only connecting has a time limit.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, NetError> {
        let mut request = request;
        let authority = request.uri().authority().ok_or(NetError::InvalidRequest)?;
        let host = HeaderValue::from_str(authority.as_str());
        request.headers_mut().insert(HOST, host.map_err(|_| NetError::InvalidRequest)?);
        if let Some(credentials) = self.options.proxy.authorization_for(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
        }
        let sent = if request.uri().scheme_str() == Some("https") {
            self.secure().await?.request(request).await
        } else {
            self.plain.request(request).await
        };
        sent.map_err(|error| NetError::from_client(&error))
    }

    /// The client for https. Made at its first use, because the certificates are read from disk.
    async fn secure(&self) -> Result<&Secure, NetError> {
        let options = &self.options;
        let make = async || {
            let config = match &options.tls {
                Some(config) => Arc::clone(config),
                None => tls::client_config().await?,
            };
            let https = HttpsConnectorBuilder::new()
                .with_tls_config(Arc::unwrap_or_clone(config))
                .https_only()
                .enable_http1()
                .wrap_connector(connector(options));
            Ok(builder(options).build(TimeLimited(https)))
        };
        self.secure.get_or_try_init(make).await
    }
}

fn connector(options: &Options) -> Connector {
    Connector { rules: options.proxy.clone(), allow_private: options.allow_private }
}

fn builder(options: &Options) -> legacy::Builder {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder
        .pool_max_idle_per_host(options.idle_connections)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new());
    builder
}

fn build(request: HttpRequest<'_>) -> Result<Request<Full<Bytes>>, NetError> {
    let mut built = Request::builder().method(request.method).uri(request.url.uri());
    for (name, value) in request.headers {
        built = built.header(*name, *value);
    }
    built.body(Full::new(Bytes::from(request.body))).map_err(|_| NetError::InvalidRequest)
}

fn head(response: &Response<Incoming>) -> (u16, Option<Duration>) {
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok())
        .map(|seconds| Duration::from_secs(seconds.min(MAX_PAUSE)));
    (response.status().as_u16(), retry_after)
}

async fn within<T>(
    timeout: Duration,
    work: impl Future<Output = Result<T, NetError>>,
) -> Result<T, NetError> {
    let timed_out = |_| Err(NetError::TimedOut(timeout));
    tokio::time::timeout(timeout, work).await.unwrap_or_else(timed_out)
}
