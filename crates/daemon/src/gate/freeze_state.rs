//! The freeze in force, in memory, and the file that tells hooks about it.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};

use countersign_types::FREEZE_MARKER;
use tokio::sync::Mutex;

use super::answer::Rejection;
use crate::freeze::{Freeze, FreezeStage};

/// The freeze in force, if there is one.
#[derive(Debug, Default)]
pub struct FreezeState {
    current: RwLock<Option<Freeze>>,
    /// Held while the freeze changes, so that a thaw and a freeze do not overtake each other.
    pub(super) changing: Mutex<()>,
    /// Exists while everything is frozen: hooks that see it ask the daemon about every call.
    marker: OnceLock<PathBuf>,
}

impl FreezeState {
    /// The freeze in force.
    pub fn current(&self) -> Option<Freeze> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The stage in force.
    pub fn stage(&self) -> Option<FreezeStage> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|it| it.stage)
    }

    /// Rejects a call while everything is frozen.
    pub fn check(&self) -> Result<(), Rejection> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(freeze) if freeze.stage == FreezeStage::Frozen => {
                Err(Rejection::Frozen(freeze.by.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Whether grants and permits from before the freeze do not count.
    pub fn suspends_grants(&self) -> bool {
        self.stage().is_some()
    }

    pub(super) fn set(&self, freeze: Option<Freeze>) {
        let is_frozen = freeze.as_ref().is_some_and(|it| it.stage == FreezeStage::Frozen);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = freeze;
        self.write_marker(is_frozen);
    }

    /// Uses this file for hooks from now on.
    pub fn set_marker(&self, folder: &Path) {
        // The daemon sets it once, at its start.
        let _ = self.marker.set(folder.join(FREEZE_MARKER));
        self.write_marker(self.stage() == Some(FreezeStage::Frozen));
    }

    /// Creates the file again if it was deleted while everything is frozen.
    pub(super) fn restore_marker(&self) {
        let is_frozen = self.stage() == Some(FreezeStage::Frozen);
        if is_frozen && self.marker.get().is_some_and(|marker| !marker.exists()) {
            self.write_marker(true);
        }
    }

    /// The daemon refuses frozen calls by itself; the file only makes hooks ask it.
    fn write_marker(&self, is_frozen: bool) {
        let Some(marker) = self.marker.get() else { return };
        let written = if is_frozen { create(marker) } else { remove(marker) };
        if let Err(error) = written {
            let file = marker.display();
            tracing::error!(%file, %error, "the file that tells hooks about a freeze is wrong");
        }
    }
}

fn create(marker: &Path) -> std::io::Result<()> {
    if let Some(folder) = marker.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    fs::write(marker, "")
}

fn remove(marker: &Path) -> std::io::Result<()> {
    match fs::remove_file(marker) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
