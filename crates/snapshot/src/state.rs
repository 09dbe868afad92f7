//! What is at a path: nothing, a file, a folder or a symlink.

use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

/// Mode, owner and time of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryMeta {
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last change of the content: seconds.
    pub mtime: i64,
    /// And nanoseconds.
    pub mtime_ns: u32,
}

impl EntryMeta {
    pub(crate) fn of(found: &Stat) -> EntryMeta {
        EntryMeta {
            mode: u32::from(rustix::fs::Mode::from_raw_mode(found.st_mode).bits()),
            uid: found.st_uid,
            gid: found.st_gid,
            mtime: modified(found).0,
            mtime_ns: modified(found).1,
        }
    }
}

/// The time of the last change. The types of the fields differ between systems.
#[expect(clippy::unnecessary_cast, reason = "the types differ between systems")]
pub(crate) fn modified(found: &Stat) -> (i64, u32) {
    (found.st_mtime as i64, u32::try_from(found.st_mtime_nsec as i64).unwrap_or(0))
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EntryState {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// SHA-256 of its content, in hexadecimal.
        sha256: String,
        /// Its length.
        size: u64,
        /// Mode, owner and time.
        #[serde(flatten)]
        meta: EntryMeta,
    },
    /// A folder; what is in it has entries of its own.
    Folder {
        /// Mode, owner and time.
        #[serde(flatten)]
        meta: EntryMeta,
    },
    /// A symlink, never followed.
    Symlink {
        /// Where it points, as text (see `encode_path`).
        target: String,
        /// Mode, owner and time.
        #[serde(flatten)]
        meta: EntryMeta,
    },
}

impl EntryState {
    /// Whether two states are the same apart from times and, for symlinks, modes.
    pub fn is_same(&self, other: &EntryState) -> bool {
        let owned = |a: &EntryMeta, b: &EntryMeta| a.uid == b.uid && a.gid == b.gid;
        let meta = |a: &EntryMeta, b: &EntryMeta| a.mode == b.mode && owned(a, b);
        match (self, other) {
            (EntryState::Absent, EntryState::Absent) => true,
            (
                EntryState::File { sha256, meta: a, .. },
                EntryState::File { sha256: other, meta: b, .. },
            ) => sha256 == other && meta(a, b),
            (EntryState::Folder { meta: a }, EntryState::Folder { meta: b }) => meta(a, b),
            (
                EntryState::Symlink { target, meta: a },
                EntryState::Symlink { target: other, meta: b },
            ) => target == other && owned(a, b),
            _ => false,
        }
    }

    /// Whether nothing is there.
    pub fn is_absent(&self) -> bool {
        matches!(self, EntryState::Absent)
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        matches!(self, EntryState::Folder { .. })
    }

    /// Mode, owner and time, if something is there.
    pub fn meta(&self) -> Option<&EntryMeta> {
        match self {
            EntryState::Absent => None,
            EntryState::File { meta, .. }
            | EntryState::Folder { meta }
            | EntryState::Symlink { meta, .. } => Some(meta),
        }
    }
}
