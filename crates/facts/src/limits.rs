//! The bounds of a look.

use std::time::{Duration, Instant};

/// What a look may cost.
#[derive(Debug, Clone, Copy)]
pub struct LookLimits {
    /// The time for all questions together.
    pub time: Duration,
    /// The time for questions whose answer can only raise a tier: what a script says, where a
    /// symlink or a push leads. They are quick; on a busy machine they wait for their turn, because
    /// a call must not pass for want of an answer.
    pub patience: Duration,
    /// The time for dry runs. They change no verdict, and such a call is not one that is passed
    /// here and now.
    pub plans: Duration,
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
        patience: Duration::from_millis(250),
        plans: Duration::from_millis(150),
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
    patient_end: Instant,
    plan_end: Instant,
    compared: u64,
}

/// When a look ends: for all questions, and for those that wait for their turn.
#[derive(Debug, Clone, Copy)]
pub struct LookEnd {
    pub end: Instant,
    pub patient: Instant,
    pub plan: Instant,
}

impl LookEnd {
    /// From now on.
    pub fn of(limits: &LookLimits) -> LookEnd {
        let now = Instant::now();
        LookEnd {
            end: now + limits.time,
            patient: now + limits.time.max(limits.patience),
            plan: now + limits.time.max(limits.plans),
        }
    }
}

impl Budget {
    pub fn new(limits: LookLimits, ends: LookEnd) -> Budget {
        let LookEnd { end, patient, plan } = ends;
        // What was read until then still has to be told in time.
        let plan_end = plan.checked_sub(limits.plans / 5).unwrap_or(plan);
        Budget { limits, end, patient_end: patient, plan_end, compared: 0 }
    }

    /// When the time is over.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// When the time of dry runs is over.
    pub fn plan_end(&self) -> Instant {
        self.plan_end
    }

    /// Whether the time of dry runs is over.
    pub fn is_plan_over(&self) -> bool {
        Instant::now() >= self.plan_end
    }

    /// Whether the time of questions that wait for their turn is over.
    pub fn is_patience_over(&self) -> bool {
        Instant::now() >= self.patient_end
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
