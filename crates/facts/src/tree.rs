//! Counts the files below a path, and what git knows about them.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use countersign_risk::facts::{GitCounts, PathFact};
use countersign_risk::paths::is_build_folder;

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
    /// Whether it is build output, and with it everything in it that is ignored.
    is_built: bool,
}

/// Counts everything at a path until the budget ends.
pub fn measure(look: &mut LocalLook<'_>, start: &Path, fact: &mut PathFact) {
    count(look, start, fact, false);
}

/// Counts the files of a work tree, without the repository's own data and ignored folders.
pub fn measure_worktree(look: &mut LocalLook<'_>, root: &Path, fact: &mut PathFact) {
    count(look, root, fact, true);
}

fn count(look: &mut LocalLook<'_>, start: &Path, fact: &mut PathFact, skips_ignored: bool) {
    let status = look.repositories.status_of(start, &look.budget);
    let has_status = status.is_some();
    let git = GitCounts::default();
    let mut count = Count { budget: &mut look.budget, status, fact, git, skips_ignored };
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
    skips_ignored: bool,
}

impl Count<'_> {
    fn everything(&mut self, start: &Path) {
        let Ok(found) = fs::symlink_metadata(start) else {
            self.fact.size.is_exact = false;
            return;
        };
        let (device, is_git) = (found.dev(), self.fact.has_repository);
        let is_ignored = self.status.as_mut().is_some_and(|status| status.starts_ignored(start));
        let is_built = self.is_built(start);
        let first =
            OpenFolder { path: start.to_path_buf(), depth: 0, is_ignored, is_git, is_built };
        if !found.is_dir() {
            self.file(start, &found, &first);
            return;
        }
        let (mut entries, mut folders) = (0, vec![first]);
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
                folders.extend(self.entry(entry, &folder, device));
            }
        }
    }

    /// Counts one entry of a folder; returns a folder that is to be read.
    fn entry(
        &mut self,
        entry: io::Result<DirEntry>,
        folder: &OpenFolder,
        device: u64,
    ) -> Option<OpenFolder> {
        let Ok((entry, found)) = entry.and_then(|e| e.metadata().map(|found| (e, found))) else {
            self.fact.size.is_exact = false;
            return None;
        };
        let path = entry.path();
        let is_repository = entry.file_name() == GIT;
        self.fact.has_repository |= is_repository;
        let is_git = folder.is_git || is_repository;
        if !found.is_dir() {
            if !is_repository {
                self.file(&path, &found, folder);
            }
            return None;
        }
        // Another file system may hang, and has its own owner.
        if found.dev() != device || folder.depth >= MAX_DEPTH {
            self.fact.size.is_exact = false;
            return None;
        }
        let is_ignored = folder.is_ignored
            || !is_git && self.status.as_mut().is_some_and(|s| s.is_ignored(&path, true));
        if self.skips_ignored && (is_ignored || is_git) {
            return None;
        }
        let is_built = folder.is_built || is_build_output(&path);
        Some(OpenFolder { path, depth: folder.depth + 1, is_ignored, is_git, is_built })
    }

    /// Whether a path of the work tree is in a folder of build output.
    fn is_built(&self, path: &Path) -> bool {
        let root = self.status.as_ref().map(PathStatus::worktree);
        path.ancestors().take_while(|part| Some(*part) != root).any(is_build_output)
    }

    fn file(&mut self, path: &Path, found: &Metadata, folder: &OpenFolder) {
        self.fact.size.files += 1;
        if found.is_file() {
            self.fact.size.bytes = self.fact.size.bytes.saturating_add(found.len());
        }
        // A repository's own files are not files of the work tree.
        if folder.is_git {
            return;
        }
        let Some(status) = &mut self.status else { return };
        let counted = match status.of_file(path, found, folder.is_ignored, self.budget) {
            FileState::Unchanged => &mut self.git.unchanged,
            FileState::Changed => &mut self.git.changed,
            FileState::Untracked => &mut self.git.untracked,
            FileState::Ignored if folder.is_built => &mut self.git.built,
            FileState::Ignored => &mut self.git.ignored,
        };
        *counted += 1;
    }
}

fn is_build_output(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(is_build_folder)
}
