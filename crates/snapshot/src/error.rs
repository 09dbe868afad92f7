//! Why there is no snapshot, or why nothing was restored.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no snapshot, or why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// More files than the limit.
    #[error("more than {0} files and folders")]
    TooManyFiles(usize),
    /// More bytes than the limit.
    #[error("more than {0} bytes")]
    TooManyBytes(u64),
    /// The time is over.
    #[error("it would take too long")]
    TooSlow,
    /// Folders are nested too deeply.
    #[error("{} is nested too deeply", .0.display())]
    TooDeep(PathBuf),
    /// A path that does not name one place.
    #[error("{} is not an absolute path without `..`", .0.display())]
    BadPath(PathBuf),
    /// A FIFO, socket or device.
    #[error("{} is not a file, folder or symlink", .0.display())]
    SpecialFile(PathBuf),
    /// A file with several names, of which a snapshot would know only some.
    #[error("{} has several names (hard links)", .0.display())]
    HardLink(PathBuf),
    /// Another file system is mounted there.
    #[error("another file system is mounted at {}", .0.display())]
    MountPoint(PathBuf),
    /// A symlink whose target does not exist.
    #[error("{} is a symlink to nowhere", .0.display())]
    DanglingLink(PathBuf),
    /// It changed while it was read.
    #[error("{} changed while it was read", .0.display())]
    Changed(PathBuf),
    /// A folder on the way is now a symlink or a file.
    #[error("a folder above {} is now a symlink or a file", .0.display())]
    Replaced(PathBuf),
    /// A stored content is missing or is not what its name says.
    #[error("the stored content {0} is missing or damaged")]
    Damaged(String),
    /// It is not the snapshot that was recorded, or was changed afterwards.
    #[error("the snapshot {0} is not as it was recorded")]
    Edited(String),
    /// There is no such snapshot, or several.
    #[error("no snapshot, or more than one, has an id that starts with `{0}`")]
    NotFound(String),
    /// Files changed again after the call.
    #[error("{} of the files changed again after the call", .0.len())]
    Conflicts(Vec<PathBuf>),
    /// The folder of the snapshots is not a private folder of this user.
    #[error("{} is not a private folder of this user", .0.display())]
    UnsafeFolder(PathBuf),
    /// The operating system refused.
    #[error("{}: {error}", .path.display())]
    System {
        /// The path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

impl SnapshotError {
    /// An error of the operating system at a path.
    pub(crate) fn at(path: &Path) -> impl FnOnce(rustix::io::Errno) -> SnapshotError {
        move |error| SnapshotError::System { path: path.to_path_buf(), error: error.into() }
    }

    /// The same for an error of the standard library.
    pub(crate) fn io_at(path: &Path) -> impl FnOnce(io::Error) -> SnapshotError {
        move |error| SnapshotError::System { path: path.to_path_buf(), error }
    }
}
