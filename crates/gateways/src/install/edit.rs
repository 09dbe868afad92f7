//! An edit of one file: all of it is ours, or a part of a file that belongs to the person.

use std::path::PathBuf;

/// One file and the edit that installs our part in it.
pub struct FileEdit {
    /// The file.
    pub path: PathBuf,
    /// How much of it is ours.
    pub ownership: Ownership,
}

/// How much of a file is ours.
pub enum Ownership {
    /// All of it: the installer writes and removes the whole file.
    Whole(String),
    /// A part of a file that belongs to the person.
    Part(Box<dyn Patch>),
}

/// Our part of a file. Everything else in the text stays as it is.
pub trait Patch {
    /// The text with our part; exactly the same text if the part is already there.
    fn apply(&self, text: &str) -> Result<String, PatchError>;
    /// The text without our part; exactly the same text if the part is not there.
    fn remove(&self, text: &str) -> Result<String, PatchError>;
    /// Whether the text contains nothing that a person could miss.
    fn is_blank(&self, text: &str) -> bool;
}

impl FileEdit {
    /// A file that is all ours.
    pub fn whole(path: PathBuf, text: impl Into<String>) -> FileEdit {
        FileEdit { path, ownership: Ownership::Whole(text.into()) }
    }

    /// Our part of a file.
    pub fn part(path: PathBuf, part: impl Patch + 'static) -> FileEdit {
        FileEdit { path, ownership: Ownership::Part(Box::new(part)) }
    }
}

/// Why a text cannot be edited; then nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatchError(pub String);
