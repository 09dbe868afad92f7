//! Signed checkpoints of the ledger: made when it grew, stored, and sent to witnesses.
//!
//! A checkpoint is signed only if it continues the newest one that was ever signed. That one is
//! stored in the store and next to the key, so that a store restored from an older copy is
//! detected.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_json::Value;
use countersign_ledger::checkpoint;
use countersign_ledger::checkpoint::{Checkpoint, NoteError};
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_ledger::merkle::verify_consistency;
use countersign_store::{Store as _, StoreError, TreeHead};
use tokio::sync::Mutex;

use crate::config::LedgerConfig;
use crate::gate::Gate;
use crate::keys::Keys;
use crate::ledger_mark::IntegrityFault;
use crate::shutdown::{Stop, stopped};
use crate::witness::Witness;

/// The file next to the key.
pub const NEWEST: &str = "newest.checkpoint";

/// Why no checkpoint is signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The ledger does not continue what was signed.
    #[error(
        "THE LEDGER WAS ROLLED BACK OR CHANGED: it does not continue the signed checkpoint of {0} \
         entries. No checkpoint is signed any more; compare the ledger with your witnesses"
    )]
    RolledBack(u64),
    /// A checkpoint in our name that this key did not sign.
    #[error(
        "the newest checkpoint was not signed by this key ({0}); no checkpoint is signed any more"
    )]
    Forged(NoteError),
    /// This is not the store that was signed last.
    #[error("{0}; no checkpoint is signed")]
    Halted(IntegrityFault),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The checkpoint cannot be written.
    #[error("{0}")]
    Note(#[from] NoteError),
    /// The file next to the key failed.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
}

/// Signs checkpoints.
pub struct Checkpoints {
    gate: Arc<Gate>,
    keys: Arc<Keys>,
    file: PathBuf,
    witnesses: Vec<Witness>,
    every: Duration,
    state: Mutex<Signing>,
}

/// What was signed last.
#[derive(Default)]
struct Signing {
    newest: Option<Checkpoint>,
    /// Entries that only record where the newest was sent: they alone are no reason to sign again.
    about_it: u64,
    /// How often people had accepted another ledger.
    acknowledged: u64,
    /// Once set, nothing is signed until the daemon is restarted.
    broken: bool,
}

impl Checkpoints {
    /// Reads what was signed before. A mismatch is reported at the first signature.
    pub async fn open(
        gate: Arc<Gate>,
        keys: Arc<Keys>,
        folder: &Path,
        ledger: &LedgerConfig,
    ) -> Result<Checkpoints, SignError> {
        let file = folder.join(NEWEST);
        let mut signing = Signing::default();
        let beside = match fs::read_to_string(&file) {
            Ok(note) => Some(note),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(SignError::File(file, error)),
        };
        for note in [gate.store().checkpoint().await?, beside].into_iter().flatten() {
            let known = match keys.signed_checkpoint(&note) {
                Ok(known) => known,
                // Signed by another key of ours: what it says about the past still counts.
                Err(NoteError::NotSigned) => checkpoint::parse(&note)?.checkpoint,
                Err(error) => {
                    tracing::error!(%error, "the newest checkpoint was not signed by this key");
                    signing.broken = true;
                    continue;
                }
            };
            if signing.newest.as_ref().is_none_or(|newest| newest.size < known.size) {
                signing.newest = Some(known);
            }
        }
        Ok(Checkpoints {
            gate,
            keys,
            file,
            witnesses: Witness::all(ledger),
            every: Duration::from_millis(ledger.every.0),
            state: Mutex::new(signing),
        })
    }

    /// Signs periodically until the daemon stops.
    pub async fn run(&self, mut stop: Stop) {
        loop {
            if let Err(error) = self.sign(true).await {
                tracing::error!(%error, "no checkpoint was signed");
            }
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                () = stopped(&mut stop) => return,
            }
        }
    }

    /// Signs a checkpoint if the ledger grew; returns whether it did. `told`: whether the ledger
    /// records where it was sent; the last signature before the end does not.
    pub async fn sign(&self, told: bool) -> Result<bool, SignError> {
        let mut signing = self.state.lock().await;
        if let Some(fault) = self.gate.integrity().fault() {
            return Err(SignError::Halted(fault));
        }
        let acknowledged = self.gate.integrity().acknowledged();
        if signing.acknowledged != acknowledged {
            *signing = Signing { acknowledged, ..Signing::default() };
        }
        let head = self.gate.store().tree_head().await?;
        if signing.broken {
            return Err(SignError::Forged(NoteError::Forged));
        }
        self.continues(&mut signing, head).await?;
        let signed = signing.newest.as_ref().map_or(0, |newest| newest.size);
        let grown = head.size - signed;
        if grown == 0 || (told && grown <= signing.about_it) {
            return Ok(false);
        }
        // The mark is never behind a checkpoint, so that an old mark is noticed.
        self.gate.raise_mark().await?;
        let note = self.keys.checkpoint(head.size, head.root)?;
        self.gate.store().save_checkpoint(head.size, note.clone()).await?;
        signing.newest = Some(checkpoint::parse(&note)?.checkpoint);
        signing.about_it = 0;
        replace(&self.file, &note).map_err(|error| SignError::File(self.file.clone(), error))?;
        for witness in &self.witnesses {
            let sent = witness.send(head.size, &note).await;
            let why = sent.as_ref().err().map(ToString::to_string);
            self.gate.metrics().witnessed(witness.name(), sent.is_ok());
            if let Some(why) = &why {
                tracing::warn!(witness = witness.name(), error = %why, "a checkpoint was not sent");
            }
            if told {
                self.tell(head.size, witness, why).await?;
                signing.about_it += 1;
            }
        }
        Ok(true)
    }

    /// Checks that the ledger continues the newest signed checkpoint.
    async fn continues(&self, signing: &mut Signing, head: TreeHead) -> Result<(), SignError> {
        let Some(newest) = &signing.newest else { return Ok(()) };
        let proof = if newest.size <= head.size {
            self.gate.store().consistency_proof(newest.size, head.size).await?
        } else {
            None
        };
        let holds = proof.is_some_and(|proof| {
            verify_consistency(newest.size, &newest.root, head.size, &head.root, &proof).is_ok()
        });
        if holds {
            return Ok(());
        }
        Err(SignError::RolledBack(newest.size))
    }

    async fn tell(
        &self,
        size: u64,
        witness: &Witness,
        why: Option<String>,
    ) -> Result<(), StoreError> {
        let mut entry = Entry::new(0, EntryKind::CheckpointSent, self.gate.rules().hash);
        let text = |text: String| Value::String(text.into());
        entry.facts = vec![
            ("arrived".into(), Value::Bool(why.is_none())),
            ("size".into(), Value::Number(size.to_string().into())),
            ("witness".into(), text(witness.name().to_owned())),
        ];
        entry.facts.extend(why.map(|why| ("why".into(), text(why))));
        self.gate.store().append(vec![entry]).await
    }
}

/// Replaces the file atomically.
fn replace(file: &Path, note: &str) -> std::io::Result<()> {
    let draft = file.with_extension("draft");
    let mut out =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    out.write_all(note.as_bytes())?;
    out.sync_all()?;
    fs::rename(&draft, file)
}

#[cfg(test)]
mod tests;
