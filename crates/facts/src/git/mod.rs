//! What git knows, read from its files. Git itself is not started: a repository's configuration can
//! make it run programs (filters, a file-system monitor, lazy fetches), and the agent writes it.

mod config;
mod ignore;
mod index;
mod remote;
mod status;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files;
use crate::limits::Budget;

pub use remote::remote;
pub use status::{FileState, PathStatus};

use index::IndexFile;

/// The name of a repository's folder, or of the file that names it.
pub const NAME: &str = ".git";
/// How many folders are searched upwards.
const MAX_LEVELS: usize = 64;
/// The largest `.git` file.
const MAX_LINK: u64 = 4 << 10;

/// A repository with a work tree.
#[derive(Debug, Clone)]
pub struct GitFolders {
    /// The root of the work tree.
    pub worktree: PathBuf,
    /// The repository's data for this work tree: `HEAD`, `index`.
    pub private: PathBuf,
    /// The data that all work trees share: `config`, `info/exclude`.
    pub common: PathBuf,
}

impl GitFolders {
    /// The repository of a folder, whose symlinks are resolved.
    pub fn of(folder: &Path) -> Option<GitFolders> {
        folder.ancestors().take(MAX_LEVELS).find_map(GitFolders::at)
    }

    fn at(worktree: &Path) -> Option<GitFolders> {
        let git = worktree.join(NAME);
        let found = fs::metadata(&git).ok()?;
        let private = if found.is_dir() {
            git
        } else {
            let text = files::read_text(&git, MAX_LINK).ok()?;
            worktree.join(text.strip_prefix("gitdir:")?.trim())
        };
        private.join("HEAD").symlink_metadata().ok()?;
        let common = match files::read_text(&private.join("commondir"), MAX_LINK) {
            Ok(text) => private.join(text.trim()),
            Err(_) => private.clone(),
        };
        Some(GitFolders { worktree: worktree.to_path_buf(), private, common })
    }
}

/// The repositories of one look: each index is read once.
#[derive(Debug, Default)]
pub struct Repositories {
    known: HashMap<PathBuf, Option<IndexFile>>,
}

impl Repositories {
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
