//! Reads what is at some paths, completely or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::budget::Budget;
use crate::error::SnapshotError;
use crate::folders::{LISTED, open_parent};
use crate::objects::{Objects, hash_only};
use crate::path_text::encode_path;
use crate::record::SnapshotTree;
use crate::state::{EntryMeta, EntryState, modified};

/// How deep folders are entered.
const MAX_DEPTH: usize = 128;
/// The names of files that an interrupted restoration left.
pub const UNFINISHED: &str = ".countersign-undo-";

/// What happens to the contents of files.
#[derive(Clone, Copy)]
pub enum Contents<'a> {
    /// They are stored. A file with several names is refused, because its other names would keep
    /// the change.
    StoreBefore(&'a Objects),
    /// They are stored.
    Store(&'a Objects),
    /// They are only hashed.
    Hash,
}

/// Everything at and below some paths.
pub fn capture(
    roots: &[PathBuf],
    contents: Contents<'_>,
    budget: &mut Budget,
) -> Result<SnapshotTree, SnapshotError> {
    let mut reading = Reading { contents, budget, tree: SnapshotTree::default(), device: None };
    for root in roots {
        reading.root(root)?;
    }
    Ok(reading.tree)
}

struct Reading<'a> {
    contents: Contents<'a>,
    budget: &'a mut Budget,
    tree: SnapshotTree,
    device: Option<u64>,
}

impl Reading<'_> {
    fn root(&mut self, path: &Path) -> Result<(), SnapshotError> {
        self.device = None;
        self.budget.entry()?;
        let found = match open_parent(path)? {
            // It was there when the place was resolved.
            None if matches!(self.contents, Contents::StoreBefore(_)) => {
                return Err(SnapshotError::Changed(path.to_path_buf()));
            }
            None => None,
            Some((folder, name)) => look(folder.as_fd(), name, path)?.map(|stat| (folder, stat)),
        };
        match found {
            None => {
                self.tree.insert(path.to_path_buf(), EntryState::Absent);
                Ok(())
            }
            Some((folder, stat)) => self.entry(folder.as_fd(), path, &stat, 0),
        }
    }

    fn entry(
        &mut self,
        folder: BorrowedFd<'_>,
        path: &Path,
        stat: &Stat,
        depth: usize,
    ) -> Result<(), SnapshotError> {
        let name = path.file_name().unwrap_or_default();
        let meta = EntryMeta::of(stat);
        if *self.device.get_or_insert(device(stat)) != device(stat) {
            return Err(SnapshotError::MountPoint(path.to_path_buf()));
        }
        let state = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.file(folder, name, path, stat)?,
            FileType::Symlink => {
                let target =
                    readlinkat(folder, name, Vec::new()).map_err(SnapshotError::at(path))?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                EntryState::Symlink { target: encode_path(&target), meta }
            }
            FileType::Directory => {
                self.tree.insert(path.to_path_buf(), EntryState::Folder { meta });
                return self.folder(folder, path, stat, depth);
            }
            _ => return Err(SnapshotError::SpecialFile(path.to_path_buf())),
        };
        self.tree.insert(path.to_path_buf(), state);
        Ok(())
    }

    fn file(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &OsStr,
        path: &Path,
        stat: &Stat,
    ) -> Result<EntryState, SnapshotError> {
        if matches!(self.contents, Contents::StoreBefore(_)) && stat.st_nlink > 1 {
            return Err(SnapshotError::HardLink(path.to_path_buf()));
        }
        self.budget.fits(u64::try_from(stat.st_size).unwrap_or(u64::MAX))?;
        // A FIFO that takes the file's place must not block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let changed = || SnapshotError::Changed(path.to_path_buf());
        let opened = openat(folder, name, flags, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOENT | Errno::NXIO => changed(),
            error => SnapshotError::at(path)(error),
        })?;
        if !is_unchanged(stat, &fstat(&opened).map_err(SnapshotError::at(path))?) {
            return Err(changed());
        }
        let mut file = File::from(opened);
        let content = match self.contents {
            Contents::StoreBefore(objects) | Contents::Store(objects) => {
                objects.put(&mut file, self.budget)?
            }
            Contents::Hash => hash_only(&mut file, self.budget)?,
        };
        if !is_unchanged(stat, &fstat(&file).map_err(SnapshotError::at(path))?) {
            return Err(changed());
        }
        let meta = EntryMeta::of(stat);
        Ok(EntryState::File { sha256: content.sha256, size: content.size, meta })
    }

    fn folder(
        &mut self,
        above: BorrowedFd<'_>,
        path: &Path,
        stat: &Stat,
        depth: usize,
    ) -> Result<(), SnapshotError> {
        if depth >= MAX_DEPTH {
            return Err(SnapshotError::TooDeep(path.to_path_buf()));
        }
        let name = path.file_name().unwrap_or_default();
        let changed = || SnapshotError::Changed(path.to_path_buf());
        let folder = openat(above, name, LISTED, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR | Errno::NOENT => changed(),
            error => SnapshotError::at(path)(error),
        })?;
        if !is_unchanged(stat, &fstat(&folder).map_err(SnapshotError::at(path))?) {
            return Err(changed());
        }
        for name in self.names(&folder, path)? {
            let below = path.join(&name);
            let stat = look(folder.as_fd(), &name, &below)?.ok_or_else(changed)?;
            self.entry(folder.as_fd(), &below, &stat, depth + 1)?;
        }
        if !is_unchanged(stat, &fstat(&folder).map_err(SnapshotError::at(path))?) {
            return Err(changed());
        }
        Ok(())
    }

    fn names(&mut self, folder: &OwnedFd, path: &Path) -> Result<Vec<OsString>, SnapshotError> {
        let mut names = Vec::new();
        for entry in Dir::read_from(folder).map_err(SnapshotError::at(path))? {
            let entry = entry.map_err(SnapshotError::at(path))?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || name.starts_with(UNFINISHED.as_bytes()) {
                continue;
            }
            self.budget.entry()?;
            names.push(OsStr::from_bytes(name).to_owned());
        }
        Ok(names)
    }
}

/// What is there, without following a symlink. None if nothing is.
fn look(folder: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<Option<Stat>, SnapshotError> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(SnapshotError::at(path)(error)),
    }
}

/// Whether it is still the same file or folder with the same content.
fn is_unchanged(before: &Stat, now: &Stat) -> bool {
    before.st_ino == now.st_ino
        && before.st_dev == now.st_dev
        && before.st_mode == now.st_mode
        && before.st_size == now.st_size
        && modified(before) == modified(now)
        && before.st_ctime == now.st_ctime
        && before.st_ctime_nsec == now.st_ctime_nsec
}

#[expect(clippy::unnecessary_cast, reason = "the type differs between systems")]
fn device(stat: &Stat) -> u64 {
    stat.st_dev as u64
}
