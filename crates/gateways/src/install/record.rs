//! The record of every file that the installer wrote, so that it can be restored exactly.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_json::canonical::Digest;
use serde::{Deserialize, Serialize};

use super::command::HookCommand;
use super::files::{self, InstallError};

/// The record on disk.
pub struct InstallRecord {
    path: PathBuf,
    written: RecordFile,
    /// Without the lock, two installations at once would lose the entries of one of them.
    _lock: Option<File>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct RecordFile {
    #[serde(default)]
    files: Vec<InstalledFile>,
    #[serde(default)]
    folders: Vec<PathBuf>,
}

/// One file that the installer wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledFile {
    /// The key of the agent, and of the project if it is the file of a project.
    pub agent: String,
    /// The file.
    pub path: PathBuf,
    /// The digest of the text that was written.
    pub wrote: String,
    /// The backup of the text before; none if there was no file.
    pub backup: Option<PathBuf>,
    /// The digest of the text before.
    pub before: Option<String>,
    /// Whether the state before is known exactly: no file, or a text without our part.
    pub exact: bool,
    /// The program that was written into the file.
    pub program: String,
    /// After how many seconds the hook answers that no person has decided yet.
    pub patience: u32,
    /// The file with the daemon's public key that was written into the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_key: Option<String>,
}

/// The digest of a text, as the record stores it.
pub fn digest(text: &str) -> String {
    let mut hex = String::from("sha256:");
    Digest::of(text.as_bytes()).push_hex(&mut hex);
    hex
}

/// How often the lock is tried, and the time between.
const LOCK_ATTEMPTS: u32 = 40;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

impl InstallRecord {
    /// Opens the record for writing and locks it.
    pub fn open(state: &Path) -> Result<InstallRecord, InstallError> {
        let failed = |error: &std::io::Error| InstallError::io(state, error);
        let mut folder = DirBuilder::new();
        let made = folder.recursive(true).mode(0o700).create(state);
        made.map_err(|error| failed(&error))?;
        let mut options = OpenOptions::new();
        let lock = options
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(state.join("installed.lock"))
            .map_err(|error| failed(&error))?;
        // A program that this one has just started holds the lock until it has replaced itself.
        let is_locked = (0..LOCK_ATTEMPTS).any(|attempt| {
            if attempt > 0 {
                std::thread::sleep(LOCK_PAUSE);
            }
            lock.try_lock().is_ok()
        });
        if !is_locked {
            return Err(InstallError::unsupported(
                "another installation is running; try again when it has finished",
            ));
        }
        Ok(InstallRecord { _lock: Some(lock), ..InstallRecord::read(state)? })
    }

    /// Reads the record without locking it.
    pub fn read(state: &Path) -> Result<InstallRecord, InstallError> {
        let path = state.join("installed.json");
        let written = match files::read(&path)? {
            None => RecordFile::default(),
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                InstallError::InvalidFile { path: path.clone(), why: error.to_string() }
            })?,
        };
        Ok(InstallRecord { path, written, _lock: None })
    }

    /// The entry of a file.
    pub fn about(&self, agent: &str, path: &Path) -> Option<&InstalledFile> {
        self.written.files.iter().find(|entry| entry.agent == agent && entry.path == path)
    }

    /// Every file that contains our part.
    pub fn entries(&self) -> &[InstalledFile] {
        &self.written.files
    }

    /// The command that was written into the first known one of these files.
    pub fn command<'a>(
        &self,
        agent: &str,
        mut paths: impl Iterator<Item = &'a Path>,
    ) -> Option<HookCommand> {
        let entry = paths.find_map(|path| self.about(agent, path))?;
        let InstalledFile { program, patience, daemon_key, .. } = entry.clone();
        Some(HookCommand { program, patience, daemon_key })
    }

    /// Adds an entry, and the folders that were created for it.
    pub fn remember(
        &mut self,
        entry: InstalledFile,
        folders: Vec<PathBuf>,
    ) -> Result<(), InstallError> {
        self.written.files.retain(|it| it.agent != entry.agent || it.path != entry.path);
        self.written.files.push(entry);
        self.written.folders.extend(folders);
        self.save()
    }

    /// Removes the entry of a file, and the folders that were created for it and are empty now.
    pub fn forget(&mut self, agent: &str, path: &Path) -> Result<(), InstallError> {
        self.written.files.retain(|it| it.agent != agent || it.path != path);
        let above = |folder: &PathBuf| path.starts_with(folder);
        for folder in self.written.folders.iter().rev().filter(|folder| above(folder)) {
            // Python leaves its compiled form of a plugin behind.
            let _ = fs::remove_dir_all(folder.join("__pycache__"));
            let _ = fs::remove_dir(folder);
        }
        self.written.folders.retain(|folder| folder.exists());
        self.save()
    }

    fn save(&self) -> Result<(), InstallError> {
        let text = serde_json::to_string_pretty(&self.written)
            .map_err(|error| InstallError::unsupported(&error.to_string()))?;
        files::write(&self.path, &format!("{text}\n"))
    }
}
