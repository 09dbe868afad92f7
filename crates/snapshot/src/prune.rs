//! Removes old snapshots, and contents that no snapshot needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::error::SnapshotError;
use crate::record::{SnapshotRecord, SnapshotTree};
use crate::state::EntryState;
use crate::store::SnapshotStore;

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The greatest age of a snapshot, in milliseconds.
    pub age_ms: u64,
    /// The most bytes of contents; the oldest snapshots go first.
    pub bytes: u64,
    /// The most snapshots; the oldest go first.
    pub count: usize,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Snapshots.
    pub snapshots: usize,
    /// Bytes of contents.
    pub bytes: u64,
    /// Snapshots that are left.
    pub left: usize,
}

impl SnapshotStore {
    /// Removes snapshots that are too old or too large, the oldest first. Those that a person may
    /// still have restored stay.
    pub fn prune(&self, retention: Retention, now_ms: u64) -> Result<Pruned, SnapshotError> {
        self.prepare()?;
        let _lock = self.lock_exclusive()?;
        let mut pruned = Pruned::default();
        let oldest = now_ms.saturating_sub(retention.age_ms);
        let (held, rest): (Vec<_>, Vec<_>) =
            self.records()?.into_iter().partition(|record| record.is_held(now_ms));
        let (mut old, mut kept): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|record| record.at_ms < oldest);
        old.extend(kept.drain(..kept.len().saturating_sub(retention.count)));
        for record in &old {
            self.discard(record);
        }
        pruned.snapshots = old.len();
        pruned.bytes = self.collect(held.iter().chain(&kept))?;
        while self.stored_bytes()? > retention.bytes && !kept.is_empty() {
            // A quarter at a time: each round reads all names.
            let count = kept.len().div_ceil(4);
            kept.drain(..count).for_each(|record| self.discard(&record));
            pruned.snapshots += count;
            pruned.bytes += self.collect(held.iter().chain(&kept))?;
        }
        pruned.left = held.len() + kept.len();
        Ok(pruned)
    }

    /// Bytes of all stored contents.
    pub fn stored_bytes(&self) -> Result<u64, SnapshotError> {
        let mut bytes = 0;
        let summed = self.objects.each(|_, _, length| bytes += length);
        summed.map_err(SnapshotError::io_at(&self.root))?;
        Ok(bytes)
    }

    /// Removes contents that none of these snapshots needs, and unfinished files.
    fn collect<'r>(
        &self,
        kept: impl Iterator<Item = &'r SnapshotRecord>,
    ) -> Result<u64, SnapshotError> {
        let mut needed = BTreeSet::new();
        for record in kept {
            note(&record.before, &mut needed);
            record.after.iter().for_each(|after| note(&after.tree, &mut needed));
        }
        let mut unneeded: Vec<(PathBuf, u64)> = Vec::new();
        let listed = self.objects.each(|name, path, length| {
            if !needed.contains(name.as_str()) {
                unneeded.push((path, length));
            }
        });
        listed.map_err(SnapshotError::io_at(&self.root))?;
        let mut bytes = 0;
        for (path, length) in unneeded {
            fs::remove_file(&path).map_err(SnapshotError::io_at(&path))?;
            bytes += length;
        }
        let folder = self.root.join("tmp");
        for left in fs::read_dir(&folder).map_err(SnapshotError::io_at(&folder))?.flatten() {
            // Nothing is being written while the lock is held.
            let _ = fs::remove_file(left.path());
        }
        Ok(bytes)
    }
}

fn note<'t>(tree: &'t SnapshotTree, needed: &mut BTreeSet<&'t str>) {
    needed.extend(tree.iter().filter_map(|(_, state)| match state {
        EntryState::File { sha256, .. } => Some(sha256.as_str()),
        _ => None,
    }));
}
