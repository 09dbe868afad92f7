//! Folders opened part by part, without following symlinks.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

use crate::error::SnapshotError;

/// A folder on the way: only to open what is in it.
#[cfg(target_os = "linux")]
const ON_THE_WAY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const ON_THE_WAY: OFlags = OFlags::RDONLY;

/// Flags for a folder whose entries are read.
pub const LISTED: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder above a path, and the path's name in it. The folder is none if it does not exist.
pub fn open_parent(path: &Path) -> Result<Option<(OwnedFd, &OsStr)>, SnapshotError> {
    let bad = || SnapshotError::BadPath(path.to_path_buf());
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(bad()) };
    match open_folder(parent) {
        Ok(folder) => Ok(Some((folder, name))),
        Err(Opened::Missing) => Ok(None),
        Err(Opened::Failed(error)) => Err(error),
    }
}

/// Why a folder is not open.
pub enum Opened {
    /// It does not exist.
    Missing,
    /// It is a symlink or a file, or the system refused.
    Failed(SnapshotError),
}

/// Opens an absolute folder from the root, part by part.
pub fn open_folder(path: &Path) -> Result<OwnedFd, Opened> {
    let flags = ON_THE_WAY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed = |error| match error {
        Errno::NOENT => Opened::Missing,
        Errno::LOOP | Errno::NOTDIR | Errno::MLINK => {
            Opened::Failed(SnapshotError::Replaced(path.to_path_buf()))
        }
        error => Opened::Failed(SnapshotError::at(path)(error)),
    };
    let bad = || Opened::Failed(SnapshotError::BadPath(path.to_path_buf()));
    let mut parts = path.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(bad());
    }
    let mut folder = open("/", flags, Mode::empty()).map_err(failed)?;
    for part in parts {
        let Component::Normal(name) = part else { return Err(bad()) };
        folder = openat(&folder, name, flags, Mode::empty()).map_err(failed)?;
    }
    Ok(folder)
}

/// Whether a path names one place: absolute, without `..`.
pub fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The path without `.` and doubled slashes.
pub fn tidy_path(path: &Path) -> PathBuf {
    path.components().collect()
}
