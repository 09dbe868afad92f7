//! The ledger entries of one commit before they are written; a failed job removes its own.

use countersign_ledger::entry::Entry;
use countersign_types::id::Id;

use super::grant_facts::{grants_of, labelled_server};
use super::revocation::Revocation;
use crate::error::StoreError;

/// Encoded entries in order, each after its length in four bytes.
#[derive(Debug, Default)]
pub(super) struct PendingEntries {
    bytes: Vec<u8>,
    count: u64,
    requests: Vec<(Id, u64)>,
    revocations: Vec<Revocation>,
    newest: i64,
    buffer: String,
}

/// A state of the pending entries to return to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Savepoint {
    bytes: usize,
    count: u64,
    requests: usize,
    revocations: usize,
    newest: i64,
}

impl PendingEntries {
    /// Removes all entries; the next one follows an entry of this time. Keeps the buffers.
    pub fn restart(&mut self, newest: i64) {
        self.rewind(Savepoint { bytes: 0, count: 0, requests: 0, revocations: 0, newest });
    }

    /// The current state, for [`rewind`](Self::rewind).
    pub fn savepoint(&self) -> Savepoint {
        let (bytes, requests) = (self.bytes.len(), self.requests.len());
        let revocations = self.revocations.len();
        Savepoint { bytes, count: self.count, requests, revocations, newest: self.newest }
    }

    /// Removes what was added after a savepoint.
    pub fn rewind(&mut self, savepoint: Savepoint) {
        self.bytes.truncate(savepoint.bytes);
        self.count = savepoint.count;
        self.requests.truncate(savepoint.requests);
        self.revocations.truncate(savepoint.revocations);
        self.newest = savepoint.newest;
    }

    /// Adds an entry. Its time is raised to that of the entry before it, if that is later.
    pub fn push(&mut self, entry: &mut Entry<'_>) -> Result<(), StoreError> {
        entry.at = entry.at.max(self.newest);
        let mut text = std::mem::take(&mut self.buffer);
        let written = entry.encode_into(&mut text).map_err(|e| StoreError::Invalid(e.to_string()));
        let added = written.and_then(|()| self.add(&text, entry));
        self.buffer = text;
        added
    }

    /// Adds an entry that is encoded already.
    pub fn add(&mut self, text: &str, entry: &Entry<'_>) -> Result<(), StoreError> {
        let too_long = |_| StoreError::Invalid("a ledger entry is too long".to_owned());
        let length = u32::try_from(text.len()).map_err(too_long)?;
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
        let request = entry.request.as_deref().and_then(Id::parse);
        let grants = grants_of(entry).into_iter().filter(|id| Some(*id) != request);
        let about = grants.chain(labelled_server(entry)).chain(request).map(|id| (id, self.count));
        self.requests.extend(about);
        self.revocations.extend(Revocation::of(entry));
        self.count += 1;
        self.newest = entry.at;
        Ok(())
    }

    /// The next entry may be as old as this, although the one before it is newer.
    pub fn rebase(&mut self, to: i64) {
        self.newest = to;
    }

    /// The time of the newest entry.
    pub fn newest(&self) -> i64 {
        self.newest
    }

    /// The number of entries.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The encoded entries.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the entries take away.
    pub fn revocations(&self) -> &[Revocation] {
        &self.revocations
    }

    /// The requests, grants and servers that entries are about, each with the entry's position
    /// among the pending ones.
    pub fn requests(&self) -> &[(Id, u64)] {
        &self.requests
    }
}

/// The entries in encoded bytes. Ends early where the bytes are damaged.
pub(super) struct Entries<'a>(pub &'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (entry, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(entry)
    }
}
