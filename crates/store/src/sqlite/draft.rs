//! The entries of one commit before they are written, so that a failed job takes its own away.

use countersign_ledger::entry::Entry;
use countersign_types::id::Id;

use crate::error::StoreError;

/// Entries in order, each behind its length in four bytes.
#[derive(Debug, Default)]
pub(super) struct Draft {
    bytes: Vec<u8>,
    count: u64,
    named: Vec<(Id, u64)>,
    newest: i64,
    room: String,
}

/// A place in the draft to go back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    bytes: usize,
    count: u64,
    named: usize,
    newest: i64,
}

impl Draft {
    /// An empty draft after an entry of this time. Keeps its room.
    pub fn restart(&mut self, newest: i64) {
        self.rewind(Place { bytes: 0, count: 0, named: 0, newest });
    }

    /// Where it stands.
    pub fn place(&self) -> Place {
        let (bytes, named) = (self.bytes.len(), self.named.len());
        Place { bytes, count: self.count, named, newest: self.newest }
    }

    /// Forgets what came after a place.
    pub fn rewind(&mut self, place: Place) {
        self.bytes.truncate(place.bytes);
        self.count = place.count;
        self.named.truncate(place.named);
        self.newest = place.newest;
    }

    /// Adds an entry. Its time is raised to that of the one before it, never lowered.
    pub fn push(&mut self, entry: &mut Entry<'_>) -> Result<(), StoreError> {
        entry.at = entry.at.max(self.newest);
        let mut text = std::mem::take(&mut self.room);
        let written = entry.encode_into(&mut text).map_err(|e| StoreError::Unfit(e.to_string()));
        let added = written.and_then(|()| self.add(&text, entry));
        self.room = text;
        added
    }

    /// Adds an entry whose text is there already and still right.
    pub fn add(&mut self, text: &str, entry: &Entry<'_>) -> Result<(), StoreError> {
        let too_long = |_| StoreError::Unfit("an entry is too long".to_owned());
        let length = u32::try_from(text.len()).map_err(too_long)?;
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
        if let Some(request) = entry.request.as_deref().and_then(Id::parse) {
            self.named.push((request, self.count));
        }
        self.count += 1;
        self.newest = entry.at;
        Ok(())
    }

    /// The time of the newest entry.
    pub fn newest(&self) -> i64 {
        self.newest
    }

    /// How many entries there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The entries as they are kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Which requests are named, by entries counted from the beginning of the draft.
    pub fn named(&self) -> &[(Id, u64)] {
        &self.named
    }
}

/// The entries in some kept bytes. Ends early where the bytes are damaged.
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
