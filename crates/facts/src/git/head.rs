//! The last commit of a work tree, and whether the index holds anything that it does not.

use super::folders::GitFolders;
use super::index::IndexFile;
use super::objects::{self, ObjectName};
use crate::files;
use crate::limits::Budget;

/// The largest `HEAD` or branch file.
const MAX_REFERENCE: u64 = 4 << 10;

/// What the work tree is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadState {
    /// The index is exactly the last commit: nothing was added since.
    pub is_index_committed: bool,
    /// A branch keeps the last commit, whatever happens to the work tree.
    pub is_on_branch: bool,
}

impl HeadState {
    /// For a work tree and its index. What cannot be read counts as not committed.
    pub fn of(git: &GitFolders, index: &IndexFile, budget: &Budget) -> HeadState {
        let head = last_commit(git, budget);
        let tree =
            head.and_then(|(commit, _)| objects::tree_of(&git.common, &commit, budget.end()));
        HeadState {
            is_index_committed: tree.is_some() && tree == index.cached_tree(),
            is_on_branch: head.is_some_and(|(_, is_on_branch)| is_on_branch),
        }
    }
}

/// The commit that `HEAD` names, and whether it does so by a branch.
fn last_commit(git: &GitFolders, budget: &Budget) -> Option<(ObjectName, bool)> {
    let packed = files::read_text(&git.common.join("packed-refs"), budget.limits.config_bytes);
    let packed = packed.unwrap_or_default();
    // With replacements git shows other commits than the ones that are stored.
    let replaced = git.common.join("refs/replace").symlink_metadata().is_ok();
    if replaced || packed.contains(" refs/replace/") {
        return None;
    }
    let head = files::read_text(&git.private.join("HEAD"), MAX_REFERENCE).ok()?;
    let Some(name) = head.strip_prefix("ref:").map(str::trim) else {
        return Some((objects::parse_name(head.trim())?, false));
    };
    if !name.starts_with("refs/heads/") || name.split('/').any(|part| part == "..") {
        return None;
    }
    let commit = match files::read_text(&git.common.join(name), MAX_REFERENCE) {
        Ok(text) => objects::parse_name(text.trim())?,
        Err(_) => packed.lines().find_map(|line| {
            let (commit, packed_name) = line.split_once(' ')?;
            (packed_name == name).then(|| objects::parse_name(commit))?
        })?,
    };
    Some((commit, true))
}
