//! The connector of the HTTP client: directly, or through the proxy that the environment names.
//!
//! `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` mean what they mean to curl. This
//! machine itself is never reached through a proxy. For https the proxy only carries bytes
//! (CONNECT); for http it gets the request with the whole URL.

use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::NetError;
use crate::connect::{check_before_proxy, connect_tcp};

/// Which requests go through which proxy.
#[derive(Clone)]
pub struct ProxyRules(Option<Arc<Matcher>>);

impl ProxyRules {
    /// As the environment says.
    pub fn from_environment() -> ProxyRules {
        ProxyRules(Some(Arc::new(Matcher::from_env())))
    }

    /// No proxy for anything.
    pub fn none() -> ProxyRules {
        ProxyRules(None)
    }

    /// One proxy for everything but the hosts in `except`, written like `NO_PROXY`.
    pub fn all(proxy: &str, except: &str) -> ProxyRules {
        let matcher = Matcher::builder().all(proxy.to_owned()).no(except.to_owned()).build();
        ProxyRules(Some(Arc::new(matcher)))
    }

    fn proxy_for(&self, url: &Uri) -> Option<Intercept> {
        if is_this_machine(url.host()?) { None } else { self.0.as_ref()?.intercept(url) }
    }

    /// The credentials that the proxy wants with a request that it reads itself.
    pub(crate) fn authorization_for(&self, url: &Uri) -> Option<HeaderValue> {
        let proxy = self.proxy_for(url).filter(|_| url.scheme_str() == Some("http"))?;
        proxy.basic_auth().cloned()
    }
}

impl fmt::Debug for ProxyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "ProxyRules(set)" } else { "ProxyRules(none)" })
    }
}

fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    let host = host.to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Makes the connections of a client.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    pub rules: ProxyRules,
    pub allow_private: bool,
}

type Connecting = Pin<Box<dyn Future<Output = Result<Stream, NetError>> + Send>>;

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = NetError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Connecting {
        let proxy = self.rules.proxy_for(&url);
        let allow_private = self.allow_private;
        Box::pin(async move {
            match proxy {
                Some(proxy) => through_proxy(&proxy, url, allow_private).await,
                None => direct(&url, allow_private).await,
            }
        })
    }
}

fn host_and_port(url: &Uri) -> Result<(&str, u16), NetError> {
    let host = url.host().ok_or(NetError::InvalidRequest)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let usual = if url.scheme_str() == Some("https") { 443 } else { 80 };
    Ok((host, url.port_u16().unwrap_or(usual)))
}

async fn direct(url: &Uri, allow_private: bool) -> Result<Stream, NetError> {
    let (host, port) = host_and_port(url)?;
    let stream = connect_tcp(host, port, allow_private).await?;
    Ok(Stream { io: TokioIo::new(stream), absolute_form: false })
}

async fn through_proxy(
    proxy: &Intercept,
    url: Uri,
    allow_private: bool,
) -> Result<Stream, NetError> {
    if !allow_private {
        let (host, port) = host_and_port(&url)?;
        check_before_proxy(host, port).await?;
    }
    match proxy.uri().scheme_str() {
        Some("http") if url.scheme_str() == Some("https") => {
            let mut tunnel = Tunnel::new(proxy.uri().clone(), ToProxy);
            if let Some(credentials) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(credentials.clone());
            }
            tunnel.call(url).await.map_err(|error| proxy_error(&error))
        }
        Some("http") => {
            let stream = ToProxy.call(proxy.uri().clone()).await;
            let stream = stream.map_err(|error| proxy_error(&error))?;
            Ok(Stream { absolute_form: true, ..stream })
        }
        Some("socks5" | "socks5h") => {
            // The proxy resolves names either way.
            let mut socks = SocksV5::new(proxy.uri().clone(), ToProxy);
            if let Some((user, password)) = proxy.raw_auth() {
                socks = socks.with_auth(user.to_owned(), password.to_owned());
            }
            socks.call(url).await.map_err(|error| proxy_error(&error))
        }
        _ => Err(NetError::Proxy("its URL must begin with http:// or socks5://".to_owned())),
    }
}

fn proxy_error(error: &dyn std::error::Error) -> NetError {
    match error.source() {
        Some(cause) => NetError::Proxy(format!("{error}: {cause}")),
        None => NetError::Proxy(error.to_string()),
    }
}

/// Connects to a proxy. The operator named it, so it may have any address.
#[derive(Clone, Debug)]
struct ToProxy;

impl Service<Uri> for ToProxy {
    type Response = Stream;
    type Error = NetError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Connecting {
        Box::pin(async move { direct(&url, true).await })
    }
}

/// A TCP connection to a server or a proxy.
#[derive(Debug)]
pub(crate) struct Stream {
    io: TokioIo<TcpStream>,
    /// Whether the other side is a proxy that wants the whole URL in each request.
    absolute_form: bool,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.absolute_form)
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_never_reached_through_a_proxy() {
        let rules = ProxyRules::all("http://proxy.example.org:3128", "internal.example.org");
        let proxied = |url: &str| rules.proxy_for(&url.parse().unwrap()).is_some();
        for url in [
            "http://localhost:4318/",
            "http://LOCALHOST./",
            "http://a.localhost/",
            "http://127.0.0.1/",
            "https://127.8.8.8/",
            "http://[::1]:80/",
            "https://internal.example.org/",
            "https://x.internal.example.org/",
        ] {
            assert!(!proxied(url), "{url}");
        }
        for url in ["http://example.org/", "https://localhost.example.org/", "http://10.0.0.1/"] {
            assert!(proxied(url), "{url}");
        }
        assert!(ProxyRules::none().proxy_for(&"http://example.org/".parse().unwrap()).is_none());
    }

    #[test]
    fn credentials_go_to_the_proxy_only_where_it_reads_the_request() {
        let rules = ProxyRules::all("http://u:secret@proxy.example.org:3128", "");
        let of = |url: &str| rules.authorization_for(&url.parse().unwrap());
        assert!(of("http://example.org/").is_some());
        // Inside a tunnel the header would reach the server.
        assert!(of("https://example.org/").is_none());
        assert!(of("http://127.0.0.1/").is_none());
        assert!(!format!("{rules:?}").contains("secret"));
    }
}
