//! Where a look happens, and what is left of its budget.

use std::path::PathBuf;

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

/// A look in progress.
pub struct LocalLook<'a> {
    pub budget: Budget,
    pub place: &'a LookPlace,
    pub repositories: Repositories,
}
