//! Why TLS cannot be used.

use std::path::PathBuf;

/// Why TLS cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// A pin is not written as one.
    #[error("`{0}` is not a pin such as sha256: and 64 hexadecimal digits")]
    Pin(String),
    /// An https address says nothing about the certificate.
    #[error(
        "an https address names the daemon's key or a CA file behind #, for example \
         https://gate.example.org:6000#sha256:… (`countersign keys tls` prints it) or \
         https://gate.example.org:6000#ca:/etc/ssl/certs/ca-certificates.crt"
    )]
    NoTrust,
    /// A file cannot be used.
    #[error("{0}: {1}")]
    File(PathBuf, String),
    /// No certificate can be valid for this host.
    #[error("no certificate can be valid for the host `{0}`")]
    Host(String),
    /// A key or certificate cannot be made or used.
    #[error("TLS: {0}")]
    Unusable(String),
}

impl From<rcgen::Error> for TlsError {
    fn from(error: rcgen::Error) -> TlsError {
        TlsError::Unusable(error.to_string())
    }
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> TlsError {
        TlsError::Unusable(error.to_string())
    }
}
