//! One commit as its jobs see it: the connection, the time, the entries, and what to publish.

use std::collections::BTreeSet;

use countersign_json::canonical::Digest;
use countersign_ledger::entry::Entry;
use countersign_types::id::Id;
use countersign_types::time::{Clock, Moment, Timestamp};
use rusqlite::Connection;

use super::pending_entries::{Entries, PendingEntries};
use super::revocation::Revocation;
use super::revocations::{RecordedLedger, Revocations};
use super::row_record::{RowKey, RowRecord, RowTable, owner_key};
use crate::error::{StoreError, StoreResult};
use crate::event::StoreEvent;
use crate::record::{StoredRequest, TreeHead};

/// One commit.
pub(super) struct Batch<'c> {
    /// The writing connection, inside the transaction.
    pub conn: &'c Connection,
    /// The time of the current job.
    pub now: Moment,
    /// The head of the ledger before this commit.
    pub head: TreeHead,
    /// What the entries up to there took away.
    pub revocations: &'c Revocations,
    pending: &'c mut PendingEntries,
    effects: CommitEffects,
}

/// What a job may have changed when it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Atomicity {
    /// Nothing: it checks everything before it changes a row. If it fails later nevertheless, the
    /// whole commit is rolled back.
    ValidatesFirst,
    /// Anything: it gets a savepoint, which costs a copy of every page.
    Savepoint,
}

/// What follows once the commit is durable.
#[derive(Default)]
pub(super) struct CommitEffects {
    /// Events to publish.
    pub events: Vec<StoreEvent>,
    /// Ended requests, for those who wait for them.
    pub ended: Vec<StoredRequest>,
    /// A job could not be written although the commit succeeded: the disk is nearly full.
    pub write_failed: bool,
    /// A job failed halfway: the commit must be rolled back.
    pub must_abort: bool,
    /// Texts were removed that the write-ahead log still holds.
    pub removed_text: bool,
}

impl<'c> Batch<'c> {
    /// A commit that has begun, after this head of the ledger.
    pub fn new(
        conn: &'c Connection,
        pending: &'c mut PendingEntries,
        (head, revocations): (TreeHead, &'c Revocations),
    ) -> Batch<'c> {
        let now = Moment::reliable(Timestamp(pending.newest()));
        Batch { conn, now, head, revocations, pending, effects: CommitEffects::default() }
    }

    /// Runs a job completely or not at all.
    pub fn job<T>(
        &mut self,
        clock: &dyn Clock,
        atomicity: Atomicity,
        work: impl FnOnce(&mut Batch<'_>) -> StoreResult<T>,
    ) -> StoreResult<T> {
        self.now = job_time(clock.now(), self.pending.newest());
        let (events, ended) = (self.effects.events.len(), self.effects.ended.len());
        let (savepoint, changes) = (self.pending.savepoint(), self.conn.total_changes());
        let has_savepoint = atomicity == Atomicity::Savepoint;
        if has_savepoint {
            self.conn.prepare_cached("SAVEPOINT job")?.execute([])?;
        }
        let done = work(self);
        if let Err(error) = &done {
            self.effects.write_failed |= matches!(error, StoreError::Unavailable(_));
            self.pending.rewind(savepoint);
            self.effects.events.truncate(events);
            self.effects.ended.truncate(ended);
            // SQLite rolls the whole transaction back when the disk is full.
            if self.conn.is_autocommit() {
                return Err(StoreError::Unavailable(error.to_string()));
            }
            if has_savepoint {
                self.conn.prepare_cached("ROLLBACK TO job")?.execute([])?;
            } else if self.conn.total_changes() != changes {
                self.effects.must_abort = true;
            }
        }
        if has_savepoint {
            self.conn.prepare_cached("RELEASE job")?.execute([])?;
        }
        done
    }

    /// Whether the commit must be rolled back.
    pub fn has_failed(&self) -> bool {
        self.effects.must_abort || self.conn.is_autocommit()
    }

    /// What rows are compared with.
    pub fn ledger(&self) -> RecordedLedger<'c> {
        let (head, revocations) = (self.head, self.revocations);
        RecordedLedger { head, revocations, uses: revocations.uses() }
    }

    /// The digest of the row of a person, agent or credential, by the ledger and the pending
    /// entries.
    pub fn recorded_row(&self, key: RowKey) -> Option<Digest> {
        let pending = self.pending.revocations().iter().rev();
        let mut pending = pending.filter_map(|one| match one {
            Revocation::RowRecorded(row, _) if row.key == key => Some(row.content),
            Revocation::Rebased(_) if key.0 == RowTable::Login => Some(None),
            _ => None,
        });
        pending.next().unwrap_or_else(|| self.revocations.row(key))
    }

    /// The credentials of a person that have not ended, by the ledger and the pending entries.
    pub fn recorded_credentials(&self, person: &str) -> BTreeSet<RowKey> {
        let mut keys = self.revocations.credentials_of(person);
        for one in self.pending.revocations() {
            if matches!(one, Revocation::Rebased(_)) {
                keys.retain(|key| key.0 != RowTable::Login);
            }
            if let Revocation::RowRecorded(RowRecord { key, content }, owner) = one
                && key.0.is_credential()
            {
                if content.is_some() && *owner == owner_key(person) {
                    keys.insert(*key);
                } else {
                    keys.remove(key);
                }
            }
        }
        keys
    }

    /// The pending entries about a request, in order.
    pub fn pending_about(&self, id: Id) -> Vec<&[u8]> {
        let about = self.pending.requests().iter().filter(|(request, _)| *request == id);
        let about: BTreeSet<u64> = about.map(|(_, position)| *position).collect();
        if about.is_empty() {
            return Vec::new();
        }
        let entries = (0_u64..).zip(Entries(self.pending.bytes()));
        entries.filter(|(at, _)| about.contains(at)).map(|(_, bytes)| bytes).collect()
    }

    /// The number of ledger entries, including the pending ones.
    pub fn entries(&self) -> u64 {
        self.head.size + self.pending.count()
    }

    /// Notes that texts were removed.
    pub fn mark_text_removed(&mut self) {
        self.effects.removed_text = true;
    }

    /// Appends a ledger entry with the time of this job.
    pub fn append(&mut self, mut entry: Entry<'_>) -> StoreResult<()> {
        entry.at = self.now.at.0;
        self.pending.push(&mut entry)
    }

    /// Appends ledger entries in order, with the time of this job.
    pub fn append_all(&mut self, entries: Vec<Entry<'_>>) -> StoreResult<()> {
        entries.into_iter().try_for_each(|entry| self.append(entry))
    }

    /// Entries from now on have this time or a later one.
    pub fn rebase(&mut self, to: Timestamp) {
        self.pending.rebase(to.0);
        self.now = Moment { at: to, reliable: false };
    }

    /// Publishes an event after the commit.
    pub fn publish(&mut self, event: StoreEvent) {
        self.effects.events.push(event);
    }

    /// Publishes the end of a request after the commit.
    pub fn publish_end(&mut self, stored: StoredRequest) {
        self.publish(StoreEvent::Ended(stored.request.id, stored.request.state));
        self.effects.ended.push(stored);
    }

    /// What to publish.
    pub fn finish(self) -> CommitEffects {
        self.effects
    }
}

/// The time of a job. A clock behind the newest entry counts as unreliable, so that it cannot
/// approve.
fn job_time(now: Moment, newest: i64) -> Moment {
    if now.at.0 >= newest { now } else { Moment { at: Timestamp(newest), reliable: false } }
}
