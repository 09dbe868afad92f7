//! Why the daemon did not start.

use std::io;
use std::path::PathBuf;

use countersign_store::StoreError;

use crate::checkpoints::SignError;
use crate::config::ConfigError;
use crate::key_rotation::PublishError;
use crate::keys::KeyError;
use crate::tls::CertificateProblem;

/// Why the daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] countersign_store::OpenError),
    /// The store cannot be read or written.
    #[error("{0}: {1}")]
    Store(PathBuf, StoreError),
    /// The key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The public key.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// The signed checkpoints of the ledger.
    #[error(transparent)]
    Signed(#[from] SignError),
    /// The TLS certificate.
    #[error(transparent)]
    Tls(#[from] CertificateProblem),
    /// A folder.
    #[error("{0}: {1}")]
    Folder(PathBuf, io::Error),
    /// An address or socket.
    #[error("{0}: {1} (is another daemon running?)")]
    Listen(String, io::Error),
    /// No randomness or no memory for a passphrase.
    #[error("could not create a passphrase: no random numbers or no memory")]
    Passphrase,
}
