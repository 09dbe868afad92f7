//! The file that makes gateways ask about every call while policy rules deny or ask.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use countersign_types::POLICY_MARKER;

/// The file. Gateways let calls that only read pass by themselves, unless it exists.
#[derive(Debug, Default)]
pub struct PolicyMarker {
    file: OnceLock<PathBuf>,
}

impl PolicyMarker {
    /// Uses the file in this folder from now on.
    pub(super) fn set_folder(&self, folder: &Path) {
        // The daemon sets it once, at its start.
        let _ = self.file.set(folder.join(POLICY_MARKER));
    }

    /// Creates the file again if it was deleted while rules restrict.
    pub(super) fn restore(&self, restricts: bool) {
        if restricts && self.file.get().is_some_and(|file| !file.exists()) {
            self.update(true);
        }
    }

    /// Creates or removes the file.
    pub(super) fn update(&self, restricts: bool) {
        let Some(file) = self.file.get() else { return };
        let written = if restricts { create(file) } else { remove(file) };
        if let Err(error) = written {
            let file = file.display();
            tracing::error!(%file, %error, "the file that tells hooks about rules is wrong");
        }
    }
}

fn create(file: &Path) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    fs::write(file, "")
}

fn remove(file: &Path) -> std::io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
