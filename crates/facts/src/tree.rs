//! Counts the files below a path, and what git knows about them.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use countersign_risk::facts::{GitCounts, PathFact};

use crate::git::{FileState, NAME as GIT, PathStatus};
use crate::limits::Budget;
use crate::local_look::LocalLook;

/// How deep folders are entered.
const MAX_DEPTH: usize = 128;

/// A folder that is still to be read.
struct OpenFolder {
    path: PathBuf,
    depth: usize,
    /// Whether it is ignored, and with it everything in it that is not tracked.
    is_ignored: bool,
    /// Whether it belongs to a repository's own data.
    is_git: bool,
}

/// Counts everything at a path until the budget ends.
pub fn measure(look: &mut LocalLook<'_>, start: &Path, fact: &mut PathFact) {
    let status = look.repositories.status_of(start, &look.budget);
    let has_status = status.is_some();
    let mut count = Count { budget: &mut look.budget, status, fact, git: GitCounts::default() };
    count.git.is_exact = true;
    count.everything(start);
    let git = GitCounts { is_exact: count.git.is_exact && count.fact.size.is_exact, ..count.git };
    fact.git = has_status.then_some(git);
}

struct Count<'a> {
    budget: &'a mut Budget,
    status: Option<PathStatus<'a>>,
    fact: &'a mut PathFact,
    git: GitCounts,
}

impl Count<'_> {
    fn everything(&mut self, start: &Path) {
        let Ok(found) = fs::symlink_metadata(start) else {
            self.fact.size.is_exact = false;
            return;
        };
        let (device, is_git) = (found.dev(), self.fact.has_repository);
        let is_ignored = self.status.as_mut().is_some_and(|status| status.starts_ignored(start));
        if !found.is_dir() {
            self.file(start, &found, is_ignored, is_git);
            return;
        }
        let (mut entries, mut folders) = (0, Vec::new());
        folders.push(OpenFolder { path: start.to_path_buf(), depth: 0, is_ignored, is_git });
        while let Some(folder) = folders.pop() {
            let Ok(listed) = fs::read_dir(&folder.path) else {
                self.fact.size.is_exact = false;
                continue;
            };
            for entry in listed {
                entries += 1;
                if entries > self.budget.limits.entries || self.budget.is_over() {
                    self.fact.size.is_exact = false;
                    return;
                }
                let Ok((entry, found)) = entry.and_then(|e| e.metadata().map(|found| (e, found)))
                else {
                    self.fact.size.is_exact = false;
                    continue;
                };
                let path = entry.path();
                let is_repository = entry.file_name() == GIT;
                self.fact.has_repository |= is_repository;
                let is_git = folder.is_git || is_repository;
                if !found.is_dir() {
                    self.file(&path, &found, folder.is_ignored, is_git);
                    continue;
                }
                // Another file system may hang, and has its own owner.
                if found.dev() != device || folder.depth >= MAX_DEPTH {
                    self.fact.size.is_exact = false;
                    continue;
                }
                let is_ignored = folder.is_ignored
                    || !is_git && self.status.as_mut().is_some_and(|s| s.is_ignored(&path, true));
                folders.push(OpenFolder { path, depth: folder.depth + 1, is_ignored, is_git });
            }
        }
    }

    fn file(&mut self, path: &Path, found: &Metadata, in_ignored: bool, is_git: bool) {
        self.fact.size.files += 1;
        if found.is_file() {
            self.fact.size.bytes = self.fact.size.bytes.saturating_add(found.len());
        }
        // A repository's own files are not files of the work tree.
        if is_git {
            return;
        }
        let Some(status) = &mut self.status else { return };
        let counted = match status.of_file(path, found, in_ignored, self.budget) {
            FileState::Unchanged => &mut self.git.unchanged,
            FileState::Changed => &mut self.git.changed,
            FileState::Untracked => &mut self.git.untracked,
            FileState::Ignored => &mut self.git.ignored,
        };
        *counted += 1;
    }
}
