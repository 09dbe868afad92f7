//! Witnesses: places outside the store that keep signed heads of the ledger.

mod file;
mod git;
mod webhook;

use std::path::PathBuf;

use crate::config::Ledger;

/// Why a witness did not take a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// A file or folder.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// git ended with an error, or did not end.
    #[error("git {0}")]
    Git(String),
    /// The other side did not take it.
    #[error("{0}")]
    Post(#[from] crate::posting::PostError),
    /// The work was cut short.
    #[error("it was cut short")]
    CutShort,
}

/// One place that keeps checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witness {
    /// A file that grows.
    File(PathBuf),
    /// A repository with one commit for each.
    Git(PathBuf),
    /// Somebody who takes them over HTTP.
    Webhook(String),
}

impl Witness {
    /// Those that are set up.
    pub fn all(ledger: &Ledger) -> Vec<Witness> {
        let file = ledger.file.clone().map(Witness::File);
        let git = ledger.git.clone().map(Witness::Git);
        let webhook = ledger.webhook.clone().map(Witness::Webhook);
        [file, git, webhook].into_iter().flatten().collect()
    }

    /// What it is called in the ledger.
    pub fn name(&self) -> &'static str {
        match self {
            Witness::File(_) => "file",
            Witness::Git(_) => "git",
            Witness::Webhook(_) => "webhook",
        }
    }

    /// Sends a signed head there.
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
    tokio::task::spawn_blocking(work).await.map_err(|_| WitnessError::CutShort)?
}
