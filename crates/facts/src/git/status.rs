//! Whether git could bring a file back.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

use super::folders::GitFolders;
use super::ignore::IgnoreRules;
use super::index::{IndexEntry, IndexFile};
use crate::files;
use crate::limits::Budget;

/// What git knows about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// The same as in the index.
    Unchanged,
    /// Tracked, but not the same as in the index, or not compared.
    Changed,
    Untracked,
    Ignored,
}

/// The kinds of tracked files.
const REGULAR: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;
const SYMLINK: u32 = 0o120_000;

/// What git knows about everything at one path.
#[derive(Debug)]
pub struct PathStatus<'i> {
    git: GitFolders,
    index: &'i IndexFile,
    /// The tracked files there, sorted by path.
    tracked: Vec<(Vec<u8>, IndexEntry)>,
    ignore: IgnoreRules,
}

impl<'i> PathStatus<'i> {
    /// For a path in the work tree; `None` if it is not in it.
    pub fn new(
        git: GitFolders,
        index: &'i IndexFile,
        path: &Path,
        rule_bytes: u64,
    ) -> Option<PathStatus<'i>> {
        let relative = path.strip_prefix(&git.worktree).ok()?;
        let tracked = index.below(relative.as_os_str().as_bytes());
        let ignore = IgnoreRules::new(&git, rule_bytes);
        Some(PathStatus { git, index, tracked, ignore })
    }

    /// The root of the work tree.
    pub fn worktree(&self) -> &Path {
        &self.git.worktree
    }

    /// Whether the path where a count starts is in a folder that is ignored.
    pub fn starts_ignored(&mut self, path: &Path) -> bool {
        let Ok(relative) = path.strip_prefix(&self.git.worktree) else { return false };
        let is_folder = |path: &Path| self.git.worktree.join(path) != self.git.worktree;
        let mut parents: Vec<&Path> =
            relative.ancestors().skip(1).filter(|p| is_folder(p)).collect();
        parents.reverse();
        let in_ignored = parents.into_iter().any(|parent| self.ignore.matches(parent, true));
        let found = fs::symlink_metadata(path);
        in_ignored || found.is_ok_and(|found| found.is_dir()) && self.ignore.matches(relative, true)
    }

    /// Whether a rule ignores a path, given that its parents are not ignored.
    pub fn is_ignored(&mut self, path: &Path, is_folder: bool) -> bool {
        let relative = path.strip_prefix(&self.git.worktree);
        relative.is_ok_and(|relative| self.ignore.matches(relative, is_folder))
    }

    /// The state of a file or symlink.
    pub fn of_file(
        &mut self,
        path: &Path,
        found: &Metadata,
        in_ignored: bool,
        budget: &mut Budget,
    ) -> FileState {
        let Ok(relative) = path.strip_prefix(&self.git.worktree) else {
            return FileState::Untracked;
        };
        let name = relative.as_os_str().as_bytes();
        let tracked = self.tracked.binary_search_by(|(tracked, _)| tracked.as_slice().cmp(name));
        let Some((_, entry)) = tracked.ok().and_then(|at| self.tracked.get(at)) else {
            let is_ignored = in_ignored || self.is_ignored(path, false);
            return if is_ignored { FileState::Ignored } else { FileState::Untracked };
        };
        let is_same = entry.is_merged
            && has_same_mode(entry, found)
            && (self.was_seen(entry, found) || has_same_content(entry, path, found, budget));
        if is_same { FileState::Unchanged } else { FileState::Changed }
    }

    /// Whether the file is exactly as git saw it. The time of the last change is part of it, which
    /// no program can set.
    fn was_seen(&self, entry: &IndexEntry, found: &Metadata) -> bool {
        let same = |(seconds, nanoseconds): (u32, u32), at: i64, part: i64| {
            i64::from(seconds) == at && i64::from(nanoseconds) == part
        };
        let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
        same(entry.changed, found.ctime(), found.ctime_nsec())
            && same(entry.modified, found.mtime(), found.mtime_nsec())
            && entry.inode == low(found.ino())
            && entry.size == low(found.len())
            && !self.index.is_racy(entry)
    }
}

fn has_same_mode(entry: &IndexEntry, found: &Metadata) -> bool {
    match entry.mode {
        REGULAR => found.is_file() && found.mode() & 0o100 == 0,
        EXECUTABLE => found.is_file() && found.mode() & 0o100 != 0,
        SYMLINK => found.is_symlink(),
        _ => false,
    }
}

/// Whether the file's content is the tracked one. Content that git would convert differs here.
fn has_same_content(
    entry: &IndexEntry,
    path: &Path,
    found: &Metadata,
    budget: &mut Budget,
) -> bool {
    if !budget.may_compare(found.len()) {
        return false;
    }
    let bytes = if found.is_symlink() {
        fs::read_link(path).ok().map(|target| OsStr::as_bytes(target.as_os_str()).to_vec())
    } else {
        files::read(path, found.len()).ok().filter(|file| file.is_whole).map(|file| file.bytes)
    };
    bytes.is_some_and(|bytes| object_name(&bytes).as_ref() == entry.object)
}

/// The name under which git stores a file's content.
fn object_name(bytes: &[u8]) -> ring::digest::Digest {
    let mut hash = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(format!("blob {}\0", bytes.len()).as_bytes());
    hash.update(bytes);
    hash.finish()
}
