//! A whole ledger checked: fed its entries in order, held against signed checkpoints.

use std::fmt;

use super::checkpoint::Checkpoint;
use super::entry::{Entry, EntryError};
use super::merkle::{Frontier, leaf_hash};
use countersign_json::canonical::Digest;

/// Checks entries as they are fed. The first fault stays: nothing after it is believed.
///
/// Entries alone show that each is well formed and that time never goes back. That nothing was
/// changed, taken out, put in or cut off is shown by a checkpoint only, and only if the checkpoint
/// was kept where whoever changed the entries could not reach it: a ledger that is cut back to an
/// older checkpoint is a good older ledger.
#[derive(Debug, Clone, Default)]
pub struct Verifier {
    frontier: Frontier,
    latest: Option<i64>,
    /// Still to be passed, the nearest last.
    ahead: Vec<Checkpoint>,
    fault: Option<Fault>,
    room: String,
}

/// The first thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The number of the entry, from 0; after a checkpoint's fault, how many entries there are.
    pub sequence: u64,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What is wrong with a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// The bytes are no entry.
    Entry(EntryError),
    /// Its time lies before that of the entry before it.
    Time {
        /// Its time.
        at: i64,
        /// The time of the entry before it.
        before: i64,
    },
    /// A checkpoint of this size has another root: something up to here was changed.
    Root,
    /// A checkpoint says that there are more entries.
    Short {
        /// How many it says.
        wanted: u64,
    },
    /// A checkpoint says that there are fewer entries.
    Long {
        /// How many it says.
        wanted: u64,
    },
}

impl Verifier {
    /// For a ledger from its first entry on.
    pub fn new() -> Verifier {
        Verifier::default()
    }

    /// The same, to be held against older checkpoints on the way, in any order. Their signatures
    /// and origins are for the caller to check.
    pub fn expecting(mut checkpoints: Vec<Checkpoint>) -> Verifier {
        checkpoints.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.size));
        let mut verifier = Verifier { ahead: checkpoints, ..Verifier::default() };
        verifier.pass_checkpoints();
        verifier
    }

    /// Checks the next entry.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.first_fault()?;
        let wrong = match Entry::decode_with(bytes, &mut self.room) {
            Err(error) => Some(Wrong::Entry(error)),
            Ok(entry) => {
                let before = self.latest.replace(entry.at).filter(|&before| entry.at < before);
                before.map(|before| Wrong::Time { at: entry.at, before })
            }
        };
        if let Some(wrong) = wrong {
            self.fault = Some(Fault { sequence: self.size(), wrong });
        } else {
            self.frontier.append(leaf_hash(bytes));
            self.pass_checkpoints();
        }
        self.first_fault()
    }

    /// Ends with the newest checkpoint, which must speak of exactly the entries that were fed.
    pub fn finish(self, checkpoint: &Checkpoint) -> Result<(), Fault> {
        self.first_fault()?;
        let (size, wanted) = (self.size(), checkpoint.size);
        let wrong = match size.cmp(&wanted) {
            std::cmp::Ordering::Less => Some(Wrong::Short { wanted }),
            std::cmp::Ordering::Greater => Some(Wrong::Long { wanted }),
            std::cmp::Ordering::Equal => (self.root() != checkpoint.root).then_some(Wrong::Root),
        };
        match wrong {
            Some(wrong) => Err(Fault { sequence: size, wrong }),
            None => self.end(),
        }
    }

    /// Ends without a newest checkpoint: only those given to `expecting` are proof of anything.
    pub fn end(&self) -> Result<(), Fault> {
        self.first_fault()?;
        match self.ahead.first() {
            Some(Checkpoint { size: wanted, .. }) => {
                Err(Fault { sequence: self.size(), wrong: Wrong::Short { wanted: *wanted } })
            }
            None => Ok(()),
        }
    }

    /// How many good entries were fed.
    pub const fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The root over them.
    pub fn root(&self) -> Digest {
        self.frontier.root()
    }

    fn first_fault(&self) -> Result<(), Fault> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    fn pass_checkpoints(&mut self) {
        let size = self.size();
        while let Some(checkpoint) = self.ahead.pop_if(|checkpoint| checkpoint.size == size) {
            if checkpoint.root != self.frontier.root() {
                self.fault.get_or_insert(Fault { sequence: size, wrong: Wrong::Root });
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { sequence, wrong } = self;
        match wrong {
            Wrong::Entry(error) => write!(f, "entry {sequence} is damaged: {error}"),
            Wrong::Time { at, before } => write!(
                f,
                "entry {sequence} goes back in time: it says {at} ms, the one before it {before} ms"
            ),
            Wrong::Root => write!(
                f,
                "the first {sequence} entries are not those that the checkpoint was signed for"
            ),
            Wrong::Short { wanted } => {
                write!(f, "the ledger ends after {sequence} entries, the checkpoint has {wanted}")
            }
            Wrong::Long { wanted } => {
                write!(f, "the ledger has {sequence} entries, the checkpoint only {wanted}")
            }
        }
    }
}

impl std::error::Error for Fault {}
