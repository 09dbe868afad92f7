//! Verifies a whole ledger: entries in order, compared with signed checkpoints.

use std::fmt;

use super::checkpoint::Checkpoint;
use super::entry::{Entry, EntryError, EntryKind};
use super::merkle::{Frontier, leaf_hash};
use countersign_json::canonical::Digest;

/// Verifies entries one by one. The first error is kept: nothing after it is trusted.
///
/// Entries alone show that each is well formed and that time never goes back. Only a checkpoint
/// shows that nothing was changed, removed, inserted or cut off, and only if the checkpoint was
/// stored out of reach of the person who changed the entries: a ledger that is cut back to an older
/// checkpoint is a valid older ledger.
#[derive(Debug, Clone, Default)]
pub struct Verifier {
    frontier: Frontier,
    latest: Option<i64>,
    /// Checkpoints not reached yet, the nearest last.
    ahead: Vec<Checkpoint>,
    fault: Option<VerifyError>,
    room: String,
}

/// The first error, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyError {
    /// The number of the entry, from 0; for a checkpoint, the number of entries.
    pub sequence: u64,
    /// What is wrong.
    pub kind: VerifyErrorKind,
}

/// What is wrong with a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifyErrorKind {
    /// The bytes are not an entry.
    Entry(EntryError),
    /// Its time is before that of the previous entry.
    Time {
        /// Its time.
        at: i64,
        /// The time of the previous entry.
        before: i64,
    },
    /// A checkpoint of this size has another root: an entry up to here was changed.
    Root,
    /// A checkpoint covers more entries.
    Short {
        /// The number of entries of the checkpoint.
        wanted: u64,
    },
    /// A checkpoint covers fewer entries.
    Long {
        /// The number of entries of the checkpoint.
        wanted: u64,
    },
}

impl Verifier {
    /// For a ledger from its first entry.
    pub fn new() -> Verifier {
        Verifier::default()
    }

    /// Also compares with older checkpoints on the way, given in any order. The caller must verify
    /// their signatures and origins.
    pub fn expecting(mut checkpoints: Vec<Checkpoint>) -> Verifier {
        checkpoints.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.size));
        let mut verifier = Verifier { ahead: checkpoints, ..Verifier::default() };
        verifier.pass_checkpoints();
        verifier
    }

    /// Verifies the next entry.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), VerifyError> {
        self.first_fault()?;
        let kind = match Entry::decode_with(bytes, &mut self.room) {
            Err(error) => Some(VerifyErrorKind::Entry(error)),
            Ok(entry) => {
                // Only this entry, which a person signs for, may be older than the one before it.
                let rebased = entry.kind == EntryKind::ClockRebased;
                let before = self.latest.replace(entry.at);
                let before = before.filter(|&before| entry.at < before && !rebased);
                before.map(|before| VerifyErrorKind::Time { at: entry.at, before })
            }
        };
        if let Some(kind) = kind {
            self.fault = Some(VerifyError { sequence: self.size(), kind });
        } else {
            self.frontier.append(leaf_hash(bytes));
            self.pass_checkpoints();
        }
        self.first_fault()
    }

    /// Finishes with the newest checkpoint, which must cover exactly the verified entries.
    pub fn finish(self, checkpoint: &Checkpoint) -> Result<(), VerifyError> {
        self.first_fault()?;
        let (size, wanted) = (self.size(), checkpoint.size);
        let kind = match size.cmp(&wanted) {
            std::cmp::Ordering::Less => Some(VerifyErrorKind::Short { wanted }),
            std::cmp::Ordering::Greater => Some(VerifyErrorKind::Long { wanted }),
            std::cmp::Ordering::Equal => {
                (self.root() != checkpoint.root).then_some(VerifyErrorKind::Root)
            }
        };
        match kind {
            Some(kind) => Err(VerifyError { sequence: size, kind }),
            None => self.end(),
        }
    }

    /// Finishes without a newest checkpoint: only those given to `expecting` prove anything.
    pub fn end(&self) -> Result<(), VerifyError> {
        self.first_fault()?;
        match self.ahead.first() {
            Some(Checkpoint { size: wanted, .. }) => Err(VerifyError {
                sequence: self.size(),
                kind: VerifyErrorKind::Short { wanted: *wanted },
            }),
            None => Ok(()),
        }
    }

    /// The number of verified entries.
    pub const fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The root over the verified entries.
    pub fn root(&self) -> Digest {
        self.frontier.root()
    }

    fn first_fault(&self) -> Result<(), VerifyError> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    fn pass_checkpoints(&mut self) {
        let size = self.size();
        while let Some(checkpoint) = self.ahead.pop_if(|checkpoint| checkpoint.size == size) {
            if checkpoint.root != self.frontier.root() {
                self.fault
                    .get_or_insert(VerifyError { sequence: size, kind: VerifyErrorKind::Root });
            }
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VerifyError { sequence, kind } = self;
        match kind {
            VerifyErrorKind::Entry(error) => write!(f, "entry {sequence} is invalid: {error}"),
            VerifyErrorKind::Time { at, before } => {
                write!(f, "entry {sequence} goes back in time: {at} ms after {before} ms")
            }
            VerifyErrorKind::Root => {
                write!(f, "the first {sequence} entries do not match the signed checkpoint")
            }
            VerifyErrorKind::Short { wanted } => {
                write!(f, "the ledger ends after {sequence} entries; the checkpoint has {wanted}")
            }
            VerifyErrorKind::Long { wanted } => {
                write!(f, "the ledger has {sequence} entries; the checkpoint has only {wanted}")
            }
        }
    }
}

impl std::error::Error for VerifyError {}
