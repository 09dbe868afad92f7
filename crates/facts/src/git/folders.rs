//! Where a repository keeps its data.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files;

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
