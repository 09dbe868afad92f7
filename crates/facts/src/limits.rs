//! The bounds of a look.

use std::time::{Duration, Instant};

/// What a look may cost.
#[derive(Debug, Clone, Copy)]
pub struct LookLimits {
    /// The time for all questions together.
    pub time: Duration,
    /// How many files and folders are counted for one path.
    pub entries: u64,
    /// How much of a script is read.
    pub script_bytes: u64,
    /// How long the texts of all scripts may be together.
    pub texts_bytes: usize,
    /// How much is read to compare files with git's index.
    pub compared_bytes: u64,
    /// The largest index that is read.
    pub index_bytes: u64,
    /// The largest configuration file that is read.
    pub config_bytes: u64,
}

impl LookLimits {
    /// The bounds for a look before a call.
    pub const BEFORE_CALL: LookLimits = LookLimits {
        time: Duration::from_millis(20),
        entries: 20_000,
        script_bytes: 64 << 10,
        texts_bytes: 160 << 10,
        compared_bytes: 4 << 20,
        index_bytes: 16 << 20,
        config_bytes: 1 << 20,
    };
}

/// What is left of a look.
#[derive(Debug)]
pub struct Budget {
    pub limits: LookLimits,
    end: Instant,
    compared: u64,
}

impl Budget {
    pub fn new(limits: LookLimits, end: Instant) -> Budget {
        Budget { limits, end, compared: 0 }
    }

    /// Whether the time is over.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Whether a file of this size may still be compared; if so, it counts.
    pub fn may_compare(&mut self, bytes: u64) -> bool {
        let after = self.compared.saturating_add(bytes);
        let fits = after <= self.limits.compared_bytes && !self.is_over();
        if fits {
            self.compared = after;
        }
        fits
    }
}
