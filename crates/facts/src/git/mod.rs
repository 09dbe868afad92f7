//! What git knows, read from its files. Git itself is not started: a repository's configuration can
//! make it run programs (filters, a file-system monitor, lazy fetches), and the agent writes it.

mod commit;
mod config;
mod delta;
mod folders;
mod head;
mod history;
mod ignore;
mod index;
mod objects;
mod push_words;
mod refs;
mod refspec;
mod remote;
mod status;
mod tree_diff;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::limits::Budget;

pub use commit::{Commit, peeled};
pub use config::GitConfig;
pub use folders::{GitFolders, NAME};
pub use history::{HistoryDifference, compare};
pub use objects::{ObjectName, ObjectStore, digits};
pub use push_words::PushWords;
pub use refs::References;
pub use refspec::{PushSettings, RefUpdate, updates};
pub use remote::remote;
pub use status::{FileState, PathStatus};
pub use tree_diff::changed_files;

use head::HeadState;
use index::IndexFile;

/// The repositories of one look: each index is read once.
#[derive(Debug, Default)]
pub struct Repositories {
    known: HashMap<PathBuf, Option<IndexFile>>,
}

impl Repositories {
    /// The root of the work tree that a folder is in.
    pub fn worktree_of(folder: &Path) -> Option<PathBuf> {
        GitFolders::of(folder).map(|git| git.worktree)
    }

    /// What the work tree at this root is based on.
    pub fn head_of(&mut self, root: &Path, budget: &Budget) -> Option<HeadState> {
        let git = GitFolders::of(root)?;
        let entry = self.known.entry(git.worktree.clone());
        let index = entry.or_insert_with(|| IndexFile::read(&git, &budget.limits));
        Some(HeadState::of(&git, index.as_ref()?, budget))
    }

    /// What git knows about everything at a path, if it is in a work tree whose index can be read.
    pub fn status_of(&mut self, path: &Path, budget: &Budget) -> Option<PathStatus<'_>> {
        let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        let is_root = is_folder && path.join(NAME).symlink_metadata().is_ok();
        let git = GitFolders::of(if is_root { path } else { path.parent()? })?;
        let limits = budget.limits;
        let entry = self.known.entry(git.worktree.clone());
        let index = entry.or_insert_with(|| IndexFile::read(&git, &limits));
        PathStatus::new(git, index.as_ref()?, path, limits.config_bytes)
    }
}
