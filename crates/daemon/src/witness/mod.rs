//! Witnesses: destinations outside the store that keep signed checkpoints of the ledger.

mod error;
mod file;
mod git;
mod webhook;

use std::path::PathBuf;

use crate::config::LedgerConfig;

pub use error::WitnessError;

/// One destination that keeps checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witness {
    /// A file to which checkpoints are appended.
    File(PathBuf),
    /// A git repository with one commit for each checkpoint.
    Git(PathBuf),
    /// A server that takes them over HTTP.
    Webhook(String),
}

impl Witness {
    /// The configured witnesses.
    pub fn all(ledger: &LedgerConfig) -> Vec<Witness> {
        let file = ledger.file.clone().map(Witness::File);
        let git = ledger.git.clone().map(Witness::Git);
        let webhook = ledger.webhook.clone().map(Witness::Webhook);
        [file, git, webhook].into_iter().flatten().collect()
    }

    /// Its name in the ledger.
    pub fn name(&self) -> &'static str {
        match self {
            Witness::File(_) => "file",
            Witness::Git(_) => "git",
            Witness::Webhook(_) => "webhook",
        }
    }

    /// Sends a signed checkpoint there.
    pub async fn send(&self, size: u64, note: &str) -> Result<(), WitnessError> {
        let note = note.to_owned();
        match self.clone() {
            Witness::File(path) => blocking(move || file::add(&path, &note)).await,
            Witness::Git(folder) => blocking(move || git::commit(&folder, size, &note)).await,
            Witness::Webhook(url) => webhook::post(&url, note).await,
        }
    }
}

async fn blocking(
    work: impl FnOnce() -> Result<(), WitnessError> + Send + 'static,
) -> Result<(), WitnessError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| WitnessError::Cancelled)?
}
