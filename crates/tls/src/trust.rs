//! Which certificate a client accepts: one with a pinned key, or one of a given authority.

use std::fmt;
use std::path::PathBuf;

use crate::error::TlsError;
use crate::pin::KeyPin;

const CA: &str = "ca:";

/// Which certificate a client accepts. There is no variant that accepts any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsTrust {
    /// A valid certificate with this key, whatever names it has: the key is the identity.
    Pin(KeyPin),
    /// A valid certificate for the host, issued by an authority in this PEM file.
    CaFile(PathBuf),
}

impl TlsTrust {
    /// Parses what follows `#` in an address: `sha256:HEX` or `ca:/path`.
    pub fn parse(text: &str) -> Result<TlsTrust, TlsError> {
        match text.strip_prefix(CA) {
            Some(path) if path.starts_with('/') => Ok(TlsTrust::CaFile(PathBuf::from(path))),
            Some(path) => {
                Err(TlsError::File(PathBuf::from(path), "not an absolute path".to_owned()))
            }
            None if text.is_empty() => Err(TlsError::NoTrust),
            None => KeyPin::parse(text).map(TlsTrust::Pin),
        }
    }
}

impl fmt::Display for TlsTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsTrust::Pin(pin) => pin.fmt(f),
            TlsTrust::CaFile(path) => write!(f, "{CA}{}", path.display()),
        }
    }
}
