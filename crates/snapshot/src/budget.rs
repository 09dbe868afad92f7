//! How much one snapshot may cost.

use std::time::{Duration, Instant};

use crate::error::SnapshotError;

/// The limits of one snapshot. Beyond one of them there is no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// The most files and folders.
    pub files: usize,
    /// The most bytes in files.
    pub bytes: u64,
    /// The longest time.
    pub time: Duration,
}

impl SnapshotLimits {
    /// Before a call: the agent waits.
    pub const BEFORE_CALL: SnapshotLimits =
        SnapshotLimits { files: 2_000, bytes: 64 << 20, time: Duration::from_secs(2) };
    /// For a person who asked to compare or restore.
    pub const FOR_PERSON: SnapshotLimits =
        SnapshotLimits { files: 200_000, bytes: 4 << 30, time: Duration::from_mins(10) };
}

/// What is left of the limits.
#[derive(Debug)]
pub struct Budget {
    limits: SnapshotLimits,
    files: usize,
    bytes: u64,
    end: Instant,
}

impl Budget {
    pub fn new(limits: SnapshotLimits) -> Budget {
        Budget { limits, files: 0, bytes: 0, end: Instant::now() + limits.time }
    }

    /// One more file, folder or link.
    pub fn entry(&mut self) -> Result<(), SnapshotError> {
        self.files += 1;
        if self.files > self.limits.files {
            return Err(SnapshotError::TooManyFiles(self.limits.files));
        }
        self.in_time()
    }

    /// So many more bytes.
    pub fn bytes(&mut self, more: u64) -> Result<(), SnapshotError> {
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > self.limits.bytes {
            return Err(SnapshotError::TooManyBytes(self.limits.bytes));
        }
        self.in_time()
    }

    /// Whether a file of this size still fits; nothing is taken yet.
    pub fn fits(&self, size: u64) -> Result<(), SnapshotError> {
        if self.bytes.saturating_add(size) > self.limits.bytes {
            return Err(SnapshotError::TooManyBytes(self.limits.bytes));
        }
        Ok(())
    }

    fn in_time(&self) -> Result<(), SnapshotError> {
        if Instant::now() > self.end { Err(SnapshotError::TooSlow) } else { Ok(()) }
    }
}
