//! A snapshot that is taken before the daemon is asked, so that the call may run first and a
//! person looks at it afterwards.

use std::cell::Cell;
use std::time::Instant;

use countersign_client::{ReviewNote, SnapshotMember};
use countersign_risk::facts::snapshot_claim::SnapshotMoment;
use countersign_snapshot::SnapshotRecord;

use super::looked_at::looked_at;
use super::snapshots::CallSnapshots;
use crate::agents::ProposedCall;
use crate::machine_look::MachineLook;

/// A snapshot that goes with a question.
pub struct OfferedSnapshot<'s> {
    snapshots: &'s CallSnapshots,
    record: SnapshotRecord,
    accepted: Cell<bool>,
}

impl<'s> OfferedSnapshot<'s> {
    /// Takes it, if the configuration allows calls to run first and all files are known.
    pub fn take(
        snapshots: &'s CallSnapshots,
        agent: &str,
        call: &ProposedCall,
        end: Instant,
    ) -> Option<OfferedSnapshot<'s>> {
        let record = snapshots.before_question(agent, call, end)?;
        Some(OfferedSnapshot { snapshots, record, accepted: Cell::new(false) })
    }

    /// What the daemon is told about it. None without the key of the hook.
    pub fn member(&self, look: &MachineLook, call: &ProposedCall) -> Option<SnapshotMember> {
        let digest = self.record.before_digest()?;
        member(look, call, self.snapshots, (SnapshotMoment::Before, &self.record.id, &digest))
    }

    /// Whether the call may run under this review: it is about this snapshot, and no file changed
    /// since. The snapshot is then kept until the review is over.
    pub fn accept(&self, review: &ReviewNote) -> bool {
        let accepted = review.snapshot == self.record.id && self.snapshots.hold(&self.record);
        self.accepted.set(accepted);
        accepted
    }

    /// Removes it, unless the call runs under review. Returns whether it does.
    pub fn settle(self) -> bool {
        if !self.accepted.get() {
            self.snapshots.store().discard(&self.record);
        }
        self.accepted.get()
    }
}

/// What the daemon is told about the files after a call under review.
pub fn after_member(
    look: &MachineLook,
    call: &ProposedCall,
    snapshots: &CallSnapshots,
    record: &SnapshotRecord,
) -> Option<SnapshotMember> {
    let digest = record.after_digest()?;
    member(look, call, snapshots, (SnapshotMoment::After, &record.id, &digest))
}

fn member(
    look: &MachineLook,
    call: &ProposedCall,
    snapshots: &CallSnapshots,
    (moment, id, digest): (SnapshotMoment, &str, &str),
) -> Option<SnapshotMember> {
    let folder = snapshots.folder().to_str()?;
    let about = (&looked_at(call), call.session.as_deref());
    look.snapshot_member(moment, about, (folder, id, digest))
}
