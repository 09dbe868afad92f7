//! The folder of the next command as the file system knows it.

use countersign_shell::UNKNOWN;

/// The folder of the next command as the file system knows it, where it is one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RealFolder {
    /// No command runs.
    Nowhere,
    /// This one, as the text writes it; empty for the one in which the text began.
    Known(String),
    /// More than one is possible, or nobody can tell.
    Unknown,
}

impl RealFolder {
    pub fn join(&mut self, other: RealFolder) {
        let is_same = *self == other || other == RealFolder::Nowhere;
        match self {
            RealFolder::Nowhere => *self = other,
            _ if is_same => {}
            _ => *self = RealFolder::Unknown,
        }
    }

    /// The folder that `cd` enters. A shell takes `..` back to where it came from and the file
    /// system does not, so such a folder is not known.
    pub fn entered(&self, path: &str) -> RealFolder {
        let is_plain = !path.is_empty()
            && !path.contains([UNKNOWN, '*', '?', '[', '$', '`'])
            && !path.split('/').any(|part| part == "..");
        match self {
            RealFolder::Known(_) if is_plain && path == "." => self.clone(),
            RealFolder::Known(base) if is_plain => RealFolder::Known(below(base, path)),
            _ => RealFolder::Unknown,
        }
    }
}

/// A path as seen from a folder; an empty folder is the one in which the text began.
pub(super) fn below(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with(['/', '~']) {
        return path.to_owned();
    }
    format!("{}/{path}", folder.trim_end_matches('/'))
}
