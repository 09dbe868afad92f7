//! The record of one snapshot: the call, and what was at its paths before and after.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::objects::sha256_hex;
use crate::path_text::{decode_path, encode_path};
use crate::state::EntryState;

/// Stands before what a digest covers, so that no other digest can pass for it.
const BEFORE: &str = "countersign/snapshot/before/1";
const AFTER: &str = "countersign/snapshot/after/1";

/// What was at some paths, folders before what is in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<TreeRow>", into = "Vec<TreeRow>")]
pub struct SnapshotTree(BTreeMap<PathBuf, EntryState>);

#[derive(Clone, Serialize, Deserialize)]
struct TreeRow {
    path: String,
    #[serde(flatten)]
    state: EntryState,
}

impl From<SnapshotTree> for Vec<TreeRow> {
    fn from(tree: SnapshotTree) -> Vec<TreeRow> {
        let row = |(path, state): (PathBuf, _)| TreeRow { path: encode_path(&path), state };
        tree.0.into_iter().map(row).collect()
    }
}

impl TryFrom<Vec<TreeRow>> for SnapshotTree {
    type Error = String;

    fn try_from(rows: Vec<TreeRow>) -> Result<SnapshotTree, String> {
        let mut tree = BTreeMap::new();
        for TreeRow { path, state } in rows {
            let decoded = decode_path(&path).filter(|path| crate::folders::is_plain(path));
            tree.insert(decoded.ok_or_else(|| format!("invalid path `{path}`"))?, state);
        }
        Ok(SnapshotTree(tree))
    }
}

impl SnapshotTree {
    pub(crate) fn insert(&mut self, path: PathBuf, state: EntryState) {
        self.0.insert(path, state);
    }

    pub(crate) fn extend(&mut self, other: SnapshotTree) {
        self.0.extend(other.0);
    }

    /// What was at a path; `Absent` if it is not in the tree.
    pub fn at(&self, path: &Path) -> &EntryState {
        self.0.get(path).unwrap_or(&EntryState::Absent)
    }

    /// All paths with their states, folders before what is in them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&PathBuf, &EntryState)> {
        self.0.iter()
    }

    /// The first path that is of another kind or missing in another look at the same places.
    pub(crate) fn moved(&self, other: &SnapshotTree) -> Option<PathBuf> {
        let differs = |path: &&PathBuf| discriminant(self.at(path)) != discriminant(other.at(path));
        self.0.keys().chain(other.0.keys()).find(differs).cloned()
    }

    /// The part at and below a path.
    pub(crate) fn below(&self, root: &Path) -> impl Iterator<Item = (&PathBuf, &EntryState)> {
        self.0.iter().filter(move |(path, _)| path.starts_with(root))
    }
}

/// What is known about the call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotLabel {
    /// The agent.
    pub agent: String,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The tool.
    pub tool: String,
    /// What the call does, in words.
    pub summary: String,
    /// A key of the call, by which its end is recognized.
    pub call_key: String,
    /// The snapshot that this one would restore, if it was taken before an `undo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_of: Option<String>,
}

/// What was there after the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AfterState {
    /// When it was read, in milliseconds since 1970.
    pub at_ms: u64,
    /// What was there.
    pub tree: SnapshotTree,
}

/// One snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRecord {
    /// Its id: eight hexadecimal digits.
    pub id: String,
    /// When it was taken, in milliseconds since 1970.
    pub at_ms: u64,
    /// The call.
    pub label: SnapshotLabel,
    /// The places that the call names, as text (see `encode_path`).
    pub roots: Vec<String>,
    /// What was there before the call.
    pub before: SnapshotTree,
    /// What was there after it, if that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<AfterState>,
    /// When it was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_at_ms: Option<u64>,
    /// Until when it is not removed, because a person may still have it restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_until_ms: Option<u64>,
    /// A restoration began and did not report its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restoring: bool,
}

impl SnapshotRecord {
    /// The places that the call names.
    pub fn root_paths(&self) -> Vec<PathBuf> {
        self.roots.iter().filter_map(|text| decode_path(text)).collect()
    }

    /// The SHA-256 of the snapshot as it was taken: id, time, places, and what was there. None if
    /// it cannot be encoded.
    pub fn before_digest(&self) -> Option<String> {
        let taken = (BEFORE, &self.id, self.at_ms, &self.roots, &self.before);
        Some(sha256_hex(&serde_json::to_vec(&taken).ok()?))
    }

    /// The SHA-256 of what was there after the call, if that was recorded.
    pub fn after_digest(&self) -> Option<String> {
        let after = self.after.as_ref()?;
        Some(sha256_hex(&serde_json::to_vec(&(AFTER, &self.id, &after.tree)).ok()?))
    }

    /// How many files and bytes were there before the call.
    pub fn size(&self) -> (usize, u64) {
        let bytes = self.before.iter().map(|(_, state)| match state {
            EntryState::File { size, .. } => *size,
            _ => 0,
        });
        (self.before.iter().count(), bytes.fold(0, u64::saturating_add))
    }

    /// Whether it is not removed at this time.
    pub fn is_held(&self, now_ms: u64) -> bool {
        self.hold_until_ms.is_some_and(|until| now_ms < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::EntryMeta;

    #[test]
    fn a_folder_that_was_missing_in_one_of_two_looks_is_noticed() {
        let meta = EntryMeta { mode: 0o755, uid: 0, gid: 0, mtime: 1, mtime_ns: 0 };
        let tree = |state: EntryState| {
            let mut tree = SnapshotTree::default();
            tree.insert(PathBuf::from("/p/a"), state);
            tree
        };
        let (folder, absent) = (tree(EntryState::Folder { meta }), tree(EntryState::Absent));
        let place = Some(PathBuf::from("/p/a"));
        assert_eq!(folder.moved(&absent), place);
        assert_eq!(absent.moved(&folder), place);
        assert_eq!(folder.moved(&folder), None);
        let file = EntryState::File { sha256: "x".to_owned(), size: 1, meta };
        assert_eq!(folder.moved(&tree(file)), place);
        // A file that only the second reading found has changed as well.
        assert_eq!(SnapshotTree::default().moved(&folder), place);
    }
}
