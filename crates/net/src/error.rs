//! Why an exchange failed. The texts contain no host, path or secret, so they may be logged.

use std::error::Error;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy;
use tokio_rustls::rustls;

/// Why an exchange failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// DNS has no address for the host.
    #[error("the host name could not be resolved: check the name and this machine's DNS")]
    UnknownHost,
    /// Every address of the host is private, and private addresses are not allowed.
    #[error("the host is this machine or in a private network")]
    PrivateAddress,
    /// No server accepts connections there.
    #[error("connection refused: no server listens at this address and port")]
    Refused,
    /// Another failure of the network before the request was sent.
    #[error("could not connect: {0}")]
    Connect(String),
    /// The TLS handshake failed.
    #[error("TLS handshake failed: {0}")]
    Tls(String),
    /// The proxy named in the environment could not be used.
    #[error("the proxy of this environment could not be used: {0}")]
    Proxy(String),
    /// The time for the whole exchange is over.
    #[error("no response within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The connection broke before the response was complete.
    #[error("the connection was closed before the response was complete")]
    Closed,
    /// The response is longer than the caller reads.
    #[error("the response is longer than {0} bytes")]
    TooLarge(usize),
    /// The request cannot be written as HTTP.
    #[error("the request cannot be written as HTTP: a header or the method is invalid")]
    InvalidRequest,
    /// The operating system's trusted certificates could not be loaded.
    #[error("this machine's trusted certificates could not be loaded")]
    NoTrustedRoots,
}

impl NetError {
    /// Whether the same request would fail again until an operator changes something.
    pub fn is_permanent(&self) -> bool {
        matches!(self, NetError::PrivateAddress | NetError::InvalidRequest)
    }

    /// From an error of the operating system or of TLS.
    pub(crate) fn from_io(error: &io::Error) -> NetError {
        if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return NetError::Tls(describe_tls(tls));
        }
        if let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<io::Error>()) {
            return NetError::from_io(inner);
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => NetError::Refused,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => NetError::Closed,
            kind => NetError::Connect(kind.to_string()),
        }
    }

    /// The network error among an error's causes, if there is one.
    pub fn cause_of(error: &(dyn Error + 'static)) -> Option<NetError> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(known) = error.downcast_ref::<NetError>() {
                return Some(known.clone());
            }
            if let Some(io) = error.downcast_ref::<io::Error>() {
                return Some(NetError::from_io(io));
            }
            cause = error.source();
        }
        None
    }

    /// From an error of the HTTP client.
    pub(crate) fn from_client(error: &legacy::Error) -> NetError {
        NetError::cause_of(error).unwrap_or_else(|| {
            if error.is_connect() {
                NetError::Connect("the connection could not be set up".to_owned())
            } else {
                NetError::Closed
            }
        })
    }
}

/// A TLS error in words without the host's name.
fn describe_tls(error: &rustls::Error) -> String {
    use rustls::CertificateError as Bad;
    let rustls::Error::InvalidCertificate(bad) = error else {
        return "the server and this client could not agree on TLS, or the server does not speak TLS"
            .to_owned();
    };
    let why = match bad {
        Bad::Expired | Bad::ExpiredContext { .. } => "it has expired",
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => "it is not valid yet",
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } => "it is for another host",
        Bad::UnknownIssuer => "its issuer is not trusted by this machine",
        Bad::Revoked => "it has been revoked",
        _ => "it could not be verified",
    };
    format!("the server's certificate is not valid: {why}")
}
