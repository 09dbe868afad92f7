//! The steps of a restoration: removes, creates, then sets modes and times.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, Dir, Gid, Mode, OFlags, RawMode, Timespec, Timestamps, Uid, chownat, fchmod, mkdirat,
    open, openat, renameat, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use crate::capture::UNFINISHED;
use crate::changes::PathChange;
use crate::error::SnapshotError;
use crate::folders::{LISTED, open_parent};
use crate::objects::Objects;
use crate::path_text::decode_path;
use crate::record::{SnapshotRecord, SnapshotTree};
use crate::restore::RestorePlan;
use crate::state::{EntryMeta, EntryState};

/// Does all steps. Repeating it after an interruption completes it.
pub fn apply(
    objects: &Objects,
    record: &SnapshotRecord,
    plan: &RestorePlan,
    current: &SnapshotTree,
) -> Result<(), SnapshotError> {
    let mark = format!("{UNFINISHED}{}-", record.id);
    let touched = plan.changed.iter().chain(&plan.steps);
    let above: BTreeSet<&Path> = touched.clone().filter_map(|step| step.path.parent()).collect();
    let entered = touched.filter(|step| step.after.is_folder()).map(|step| step.path.as_path());
    for folder in above.iter().copied().chain(entered) {
        make_writable(folder, current)?;
        remove_unfinished(folder, &mark)?;
    }
    for step in plan.steps.iter().rev() {
        remove(step)?;
    }
    for (number, step) in plan.steps.iter().enumerate() {
        create(objects, step, &format!("{mark}{number}"))?;
    }
    // Folders last and from the deepest, because their times change with what is in them.
    let folders = record.before.iter().rev().filter(|(path, state)| {
        state.is_folder() && plan.changed.iter().any(|change| change.path.starts_with(path))
    });
    for (path, state) in folders {
        if let Some(meta) = state.meta() {
            finish_folder(path, meta)?;
        }
    }
    sync(&above)
}

/// Removes what is in the way of a step. What a rename can replace stays until then.
fn remove(step: &PathChange) -> Result<(), SnapshotError> {
    let flags = match (&step.after, &step.before) {
        (EntryState::Absent, _) => return Ok(()),
        (EntryState::Folder { .. }, EntryState::Folder { .. }) => return Ok(()),
        (EntryState::Folder { .. }, _) => AtFlags::REMOVEDIR,
        (_, EntryState::Absent | EntryState::Folder { .. }) => AtFlags::empty(),
        _ => return Ok(()),
    };
    let Some((folder, name)) = open_parent(&step.path)? else { return Ok(()) };
    match unlinkat(&folder, name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(SnapshotError::at(&step.path)(error)),
    }
}

fn create(objects: &Objects, step: &PathChange, temporary: &str) -> Result<(), SnapshotError> {
    if step.before.is_absent() {
        return Ok(());
    }
    let path = &step.path;
    let failed = || SnapshotError::at(path);
    let Some((folder, name)) = open_parent(path)? else {
        return Err(failed()(Errno::NOENT));
    };
    match &step.before {
        EntryState::Absent => return Ok(()),
        EntryState::Folder { meta } => match mkdirat(&folder, name, mode(meta) | Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => return Ok(()),
            Err(error) => return Err(failed()(error)),
        },
        EntryState::File { sha256, meta, .. } => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let made = openat(&folder, temporary, flags, Mode::RUSR | Mode::WUSR);
            let mut file = File::from(made.map_err(failed())?);
            objects.copy_to(sha256, &mut file, path)?;
            let name = OsStr::new(temporary);
            own(folder.as_fd(), name, meta);
            fchmod(&file, mode(meta)).map_err(failed())?;
            set_time(folder.as_fd(), name, meta).map_err(failed())?;
            file.sync_all().map_err(SnapshotError::io_at(path))?;
        }
        EntryState::Symlink { target, meta } => {
            let target = decode_path(target).ok_or_else(|| SnapshotError::BadPath(path.clone()))?;
            symlinkat(&target, &folder, temporary).map_err(failed())?;
            own(folder.as_fd(), OsStr::new(temporary), meta);
            set_time(folder.as_fd(), OsStr::new(temporary), meta).map_err(failed())?;
        }
    }
    renameat(&folder, temporary, &folder, name).map_err(failed())
}

fn finish_folder(path: &Path, meta: &EntryMeta) -> Result<(), SnapshotError> {
    let Some((folder, name)) = open_parent(path)? else { return Ok(()) };
    let opened = match openat(&folder, name, LISTED, Mode::empty()) {
        // Not there or not a folder: a person changed it, and a conflict said so.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        opened => opened.map_err(SnapshotError::at(path))?,
    };
    own(folder.as_fd(), name, meta);
    set_time(folder.as_fd(), name, meta).map_err(SnapshotError::at(path))?;
    fchmod(&opened, mode(meta)).map_err(SnapshotError::at(path))
}

/// Gives this user the right to change a folder that is about to change.
fn make_writable(path: &Path, current: &SnapshotTree) -> Result<(), SnapshotError> {
    let is_writable = |meta: &EntryMeta| meta.mode & 0o700 == 0o700;
    let Some(meta) = current.at(path).meta().filter(|meta| !is_writable(meta)) else {
        return Ok(());
    };
    let Some(folder) = listed(path)? else { return Ok(()) };
    fchmod(&folder, mode(meta) | Mode::RWXU).map_err(SnapshotError::at(path))
}

/// Removes files that an interrupted restoration of the same snapshot left.
fn remove_unfinished(path: &Path, mark: &str) -> Result<(), SnapshotError> {
    let Some(folder) = listed(path)? else { return Ok(()) };
    let names: Vec<OsString> = Dir::read_from(&folder)
        .map_err(SnapshotError::at(path))?
        .filter_map(|entry| Some(OsStr::from_bytes(entry.ok()?.file_name().to_bytes()).to_owned()))
        .filter(|name| name.as_bytes().starts_with(mark.as_bytes()))
        .collect();
    for name in names {
        unlinkat(&folder, &name, AtFlags::empty()).map_err(SnapshotError::at(path))?;
    }
    Ok(())
}

/// An open folder whose entries can be read. None if it is not there or not a folder.
fn listed(path: &Path) -> Result<Option<OwnedFd>, SnapshotError> {
    let opened = if path.parent().is_none() {
        open("/", LISTED, Mode::empty())
    } else {
        let (folder, name) = match open_parent(path) {
            Ok(Some(found)) => found,
            // The call, or this restoration before it was interrupted, replaced a folder above.
            Ok(None) | Err(SnapshotError::Replaced(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        openat(&folder, name, LISTED, Mode::empty())
    };
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(SnapshotError::at(path)(error)),
    }
}

/// Restores the owner where this user may; the content is restored in any case.
fn own(folder: BorrowedFd<'_>, name: &OsStr, meta: &EntryMeta) {
    let Ok(found) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
    if (found.st_uid, found.st_gid) != (meta.uid, meta.gid) {
        let (uid, gid) = (Uid::from_raw(meta.uid), Gid::from_raw(meta.gid));
        let _ = chownat(folder, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW);
    }
}

fn set_time(folder: BorrowedFd<'_>, name: &OsStr, meta: &EntryMeta) -> Result<(), Errno> {
    let time = Timespec { tv_sec: meta.mtime, tv_nsec: meta.mtime_ns.into() };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)
}

fn mode(meta: &EntryMeta) -> Mode {
    Mode::from_raw_mode(RawMode::try_from(meta.mode).unwrap_or(0o600))
}

/// Makes the new names durable.
fn sync(folders: &BTreeSet<&Path>) -> Result<(), SnapshotError> {
    for path in folders {
        match listed(path) {
            Ok(Some(folder)) => {
                File::from(folder).sync_all().map_err(SnapshotError::io_at(path))?
            }
            // A folder that the restoration removed.
            _ => continue,
        }
    }
    Ok(())
}
