//! Checks that a snapshot is still the one that was recorded elsewhere, with all its contents.

use std::io;

use crate::error::SnapshotError;
use crate::record::SnapshotRecord;
use crate::state::EntryState;
use crate::store::{SnapshotStore, current};

/// A snapshot as it was recorded outside of its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedSnapshot {
    /// Its id.
    pub id: String,
    /// The digest of what was there before the call.
    pub before: String,
    /// The digest of what was there after it, if that was recorded.
    pub after: Option<String>,
}

impl SnapshotStore {
    /// The snapshot, if it is in the folder exactly as it was recorded.
    pub fn recorded(&self, recorded: &RecordedSnapshot) -> Result<SnapshotRecord, SnapshotError> {
        self.check_private()?;
        let edited = || SnapshotError::Edited(recorded.id.clone());
        let found = self.find(&recorded.id).map_err(|_| edited())?;
        let is_same = found.id == recorded.id
            && found.before_digest().as_ref() == Some(&recorded.before)
            && (recorded.after.is_none() || found.after_digest() == recorded.after);
        if is_same { Ok(found) } else { Err(edited()) }
    }

    /// Whether all contents of these states are stored and are what their names say.
    pub(crate) fn check_contents<'s>(
        &self,
        states: impl Iterator<Item = &'s EntryState>,
    ) -> Result<(), SnapshotError> {
        for state in states {
            if let EntryState::File { sha256, .. } = state {
                self.objects.copy_to(sha256, &mut io::sink(), &self.root)?;
            }
        }
        Ok(())
    }

    /// Whether everything that was there before the call can be restored.
    pub fn check_whole(&self, record: &SnapshotRecord) -> Result<(), SnapshotError> {
        self.check_contents(record.before.iter().map(|(_, state)| state))
    }

    /// Fails unless what is there now is what was there when the snapshot was taken.
    pub fn check_current(&self, record: &SnapshotRecord) -> Result<(), SnapshotError> {
        if current(&record.root_paths())? == record.before {
            Ok(())
        } else {
            Err(SnapshotError::Edited(record.id.clone()))
        }
    }

    /// Keeps a snapshot until this time, whatever its age and size.
    pub fn hold(&self, record: &SnapshotRecord, until_ms: u64) -> Result<(), SnapshotError> {
        self.save(&SnapshotRecord { hold_until_ms: Some(until_ms), ..record.clone() })
    }
}
