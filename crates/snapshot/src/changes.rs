//! The difference between two trees.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::record::SnapshotTree;
use crate::state::EntryState;

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// The path.
    pub path: PathBuf,
    /// What was there before.
    pub before: EntryState,
    /// What was there after.
    pub after: EntryState,
}

impl PathChange {
    /// Whether more than a time differs.
    pub fn is_visible(&self) -> bool {
        !self.before.is_same(&self.after)
    }
}

/// All paths that differ, even if only in their times; folders before what is in them.
pub fn changes(before: &SnapshotTree, after: &SnapshotTree) -> Vec<PathChange> {
    let paths: BTreeSet<&PathBuf> =
        before.iter().chain(after.iter()).map(|(path, _)| path).collect();
    let change = |path: &PathBuf| PathChange {
        path: path.clone(),
        before: before.at(path).clone(),
        after: after.at(path).clone(),
    };
    paths.into_iter().map(change).filter(|change| change.before != change.after).collect()
}
