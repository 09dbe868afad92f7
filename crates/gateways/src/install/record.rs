//! What was written where: kept in a folder of our own, so that it can be taken out exactly.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use countersign_json::canonical::Digest;
use serde::{Deserialize, Serialize};

use super::{Ours, Refused, files};

/// Everything that was written, on disk.
pub struct Record {
    path: PathBuf,
    written: Written,
    /// Two installations at once would lose what one of them did.
    _lock: Option<File>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Written {
    #[serde(default)]
    files: Vec<Entry>,
    #[serde(default)]
    folders: Vec<PathBuf>,
}

/// One file that we wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// For which agent, and in which project, by its key.
    pub agent: String,
    /// Which file.
    pub path: PathBuf,
    /// The digest of the whole text that we wrote.
    pub wrote: String,
    /// Where the text before that is kept; none where there was no file.
    pub backup: Option<PathBuf>,
    /// The digest of that text.
    pub before: Option<String>,
    /// Whether there was no file before, or the one that was there is known exactly.
    pub exact: bool,
    /// The program that was written into it.
    pub program: String,
    /// How long it waits.
    pub patience: u32,
}

/// The digest of a text, as it is kept.
pub fn digest(text: &str) -> String {
    let mut hex = String::from("sha256:");
    Digest::of(text.as_bytes()).push_hex(&mut hex);
    hex
}

impl Record {
    /// For writing: nobody else writes meanwhile.
    pub fn open(state: &Path) -> Result<Record, Refused> {
        let failed = |error: &std::io::Error| Refused::io(state, error);
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
        if lock.try_lock().is_err() {
            return Err(Refused::cannot("another installation runs; try again when it is done"));
        }
        Ok(Record { _lock: Some(lock), ..Record::look(state)? })
    }

    /// For reading.
    pub fn look(state: &Path) -> Result<Record, Refused> {
        let path = state.join("installed.json");
        let written = match files::read(&path)? {
            None => Written::default(),
            Some(text) => serde_json::from_str(&text)
                .map_err(|error| Refused::Misread { path: path.clone(), why: error.to_string() })?,
        };
        Ok(Record { path, written, _lock: None })
    }

    /// What is known about a file.
    pub fn about(&self, agent: &str, path: &Path) -> Option<&Entry> {
        self.written.files.iter().find(|entry| entry.agent == agent && entry.path == path)
    }

    /// Every file that we wrote and have not taken our part out of.
    pub fn entries(&self) -> &[Entry] {
        &self.written.files
    }

    /// What was written for an agent into one of these files.
    pub fn ours<'a>(&self, agent: &str, mut paths: impl Iterator<Item = &'a Path>) -> Option<Ours> {
        let entry = paths.find_map(|path| self.about(agent, path))?;
        Some(Ours { program: entry.program.clone(), patience: entry.patience })
    }

    /// Remembers what was written, and the folders that were made for it.
    pub fn remember(&mut self, entry: Entry, folders: Vec<PathBuf>) -> Result<(), Refused> {
        self.written.files.retain(|it| it.agent != entry.agent || it.path != entry.path);
        self.written.files.push(entry);
        self.written.folders.extend(folders);
        self.save()
    }

    /// Forgets a file, and takes away the folders that were made for it and hold nothing now.
    pub fn forget(&mut self, agent: &str, path: &Path) -> Result<(), Refused> {
        self.written.files.retain(|it| it.agent != agent || it.path != path);
        let above = |folder: &PathBuf| path.starts_with(folder);
        for folder in self.written.folders.iter().rev().filter(|folder| above(folder)) {
            // Python leaves its own reading of a plugin behind.
            let _ = fs::remove_dir_all(folder.join("__pycache__"));
            let _ = fs::remove_dir(folder);
        }
        self.written.folders.retain(|folder| folder.exists());
        self.save()
    }

    fn save(&self) -> Result<(), Refused> {
        let text = serde_json::to_string_pretty(&self.written)
            .map_err(|error| Refused::cannot(&error.to_string()))?;
        files::write(&self.path, &format!("{text}\n"))
    }
}
