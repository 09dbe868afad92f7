//! Where a look happens, and what is left of its budget.

use std::path::{Path, PathBuf};

use crate::files;
use crate::git::Repositories;
use crate::limits::Budget;

/// Where a call would run.
#[derive(Debug, Clone)]
pub struct LookPlace {
    /// The working directory.
    pub cwd: PathBuf,
    /// The root folder of the project.
    pub project: Option<PathBuf>,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The value of an environment variable.
    pub variable: fn(&str) -> Option<String>,
}

impl LookPlace {
    /// A resolved path with the project's and the user's folders as the call names them: their own
    /// names may be symlinks.
    pub fn named(&self, path: &Path) -> String {
        for folder in [&self.project, &self.home].into_iter().flatten() {
            if let Some(resolved) = files::resolved(folder)
                && let Ok(rest) = path.strip_prefix(&resolved)
            {
                let named =
                    if rest.as_os_str().is_empty() { folder.clone() } else { folder.join(rest) };
                return named.display().to_string();
            }
        }
        path.display().to_string()
    }
}

/// A look in progress.
pub struct LocalLook<'a> {
    pub budget: Budget,
    pub place: &'a LookPlace,
    pub repositories: Repositories,
}
