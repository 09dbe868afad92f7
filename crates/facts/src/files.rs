//! Reading of files that others wrote: regular ones only, bounded, never waiting.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use countersign_risk::facts::UnknownReason;
use rustix::fs::OFlags;

/// How many symlinks to nothing are followed, one after the other.
const MAX_DANGLING: usize = 8;

/// The bytes of a file.
#[derive(Debug)]
pub struct FileText {
    /// The bytes, or the first of them.
    pub bytes: Vec<u8>,
    /// Whether these are all.
    pub is_whole: bool,
    /// The state of the file when it was read.
    pub metadata: Metadata,
}

/// Opens a regular file.
pub fn open_regular(path: &Path) -> Result<File, UnknownReason> {
    // Opening a device can have effects of its own, so it is not even opened.
    let found = fs::metadata(path).map_err(|error| reason(&error))?;
    if !found.is_file() {
        return Err(UnknownReason::NotRegular);
    }
    let file = open(path)?;
    // Something else may be there since.
    let opened = file.metadata().map_err(|error| reason(&error))?;
    if opened.is_file() { Ok(file) } else { Err(UnknownReason::NotRegular) }
}

/// Reads at most `limit` bytes of a regular file.
pub fn read(path: &Path, limit: u64) -> Result<FileText, UnknownReason> {
    let file = open_regular(path)?;
    let before = file.metadata().map_err(|error| reason(&error))?;
    let mut bytes = Vec::new();
    let mut reader = (&file).take(limit.saturating_add(1));
    reader.read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    let after = file.metadata().map_err(|error| reason(&error))?;
    if state(&before) != state(&after) {
        return Err(UnknownReason::Changed);
    }
    let is_whole = bytes.len() as u64 <= limit;
    bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(FileText { bytes, is_whole, metadata: after })
}

/// Reads a whole file of UTF-8 text.
pub fn read_text(path: &Path, limit: u64) -> Result<String, UnknownReason> {
    let file = read(path, limit)?;
    if !file.is_whole {
        return Err(UnknownReason::TooLarge);
    }
    String::from_utf8(file.bytes).map_err(|_| UnknownReason::NotText)
}

fn open(path: &Path) -> Result<File, UnknownReason> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).map_err(|_| UnknownReason::Unsupported)?;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.map_err(|error| reason(&error))
}

/// What changes whenever a file's content does.
fn state(metadata: &Metadata) -> (u64, i64, i64, i64, i64) {
    let (modified, changed) = (metadata.mtime(), metadata.ctime());
    (metadata.len(), modified, metadata.mtime_nsec(), changed, metadata.ctime_nsec())
}

/// Why there is no answer, for an error of the file system.
pub fn reason(error: &io::Error) -> UnknownReason {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => UnknownReason::Missing,
        io::ErrorKind::PermissionDenied => UnknownReason::Unreadable,
        _ => UnknownReason::Unsupported,
    }
}

/// The absolute form of a path that a call names; symlinks are kept. `None` for a pattern, which
/// only a shell could expand.
pub fn absolute(path: &str, cwd: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if path.is_empty() || path.contains(['*', '?', '[', '{', '$', '`', '\0']) {
        return None;
    }
    let whole = match path.strip_prefix('~') {
        Some("") => home?.to_path_buf(),
        Some(rest) => home?.join(rest.strip_prefix('/')?),
        None => cwd.join(path),
    };
    whole.is_absolute().then_some(whole)
}

/// The path with every symlink resolved, as far as it exists. `None` for a loop of symlinks and for
/// folders that this user may not enter.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    let mut missing: Vec<Component<'_>> = Vec::new();
    let mut existing = path;
    loop {
        match fs::canonicalize(existing) {
            Ok(found) => {
                let whole = missing.iter().rev().fold(found, |path, part| path.join(part));
                return Some(whole);
            }
            // A symlink to nothing would be created where it points to.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_symlink(existing) => {
                // `..` behind a missing folder cannot be resolved.
                let part = existing.components().next_back()?;
                if !matches!(part, Component::Normal(_)) {
                    return None;
                }
                missing.push(part);
                existing = existing.parent()?;
            }
            Err(_) => return None,
        }
    }
}

/// The same for a path whose last part may be a symlink to nothing: writing to it would create the
/// file where it points to.
pub fn target(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_DANGLING {
        if let Some(found) = resolved(&path) {
            return Some(found);
        }
        let to = fs::read_link(&path).ok()?;
        path = path.parent()?.join(to);
    }
    None
}

fn is_symlink(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}
