//! Escalation: who is asked when, and the deadline at which an unanswered request is denied.

use countersign_types::tier::Tier;
use countersign_types::time::{Millis, Timestamp};

/// Who is asked. Each escalation asks these people *as well*; no one asked earlier is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationLevel {
    /// The first channel.
    First,
    /// The next channel.
    Next,
    /// The administrators.
    Administrators,
    /// The emergency notification; the last level.
    Emergency,
}

impl EscalationLevel {
    /// From first to last.
    pub const ALL: [EscalationLevel; 4] = [
        EscalationLevel::First,
        EscalationLevel::Next,
        EscalationLevel::Administrators,
        EscalationLevel::Emergency,
    ];

    /// The next level.
    pub const fn next(self) -> Option<EscalationLevel> {
        match self {
            EscalationLevel::First => Some(EscalationLevel::Next),
            EscalationLevel::Next => Some(EscalationLevel::Administrators),
            EscalationLevel::Administrators => Some(EscalationLevel::Emergency),
            EscalationLevel::Emergency => None,
        }
    }

    /// How many escalations lead to this level.
    pub const fn index(self) -> u32 {
        match self {
            EscalationLevel::First => 0,
            EscalationLevel::Next => 1,
            EscalationLevel::Administrators => 2,
            EscalationLevel::Emergency => 3,
        }
    }

    /// The level after this many escalations, if there is one.
    pub const fn from_index(index: u32) -> Option<EscalationLevel> {
        match index {
            0 => Some(EscalationLevel::First),
            1 => Some(EscalationLevel::Next),
            2 => Some(EscalationLevel::Administrators),
            3 => Some(EscalationLevel::Emergency),
            _ => None,
        }
    }

    /// The label used in every interface.
    pub const fn label(self) -> &'static str {
        match self {
            EscalationLevel::First => "first",
            EscalationLevel::Next => "next",
            EscalationLevel::Administrators => "administrators",
            EscalationLevel::Emergency => "emergency",
        }
    }
}

/// What happens while a request is not answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Ask more people until the deadline.
    #[default]
    Standard,
    /// Deny after 60, 30 or 10 seconds, by tier.
    Strict,
}

/// Deadlines and escalation intervals. An operator can configure all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EscalationTimes {
    /// The profile.
    pub profile: Profile,
    /// The deadline if the caller names none.
    pub default_timeout: Millis,
    /// The latest deadline that a caller may request.
    pub max_timeout: Millis,
    /// Between two escalations, for MEDIUM (and LOW where it asks).
    pub medium: Millis,
    /// Between two escalations, for HIGH.
    pub high: Millis,
    /// Between two escalations, for CRITICAL.
    pub critical: Millis,
    /// The unit of the escalation in a crisis: people are paged at 0, 1, 3 and 5 of it.
    pub crisis: Millis,
}

/// A request in a crisis stays open for at least this long, if the longest deadline allows it: the
/// last people are paged after five minutes, and must have time to answer.
const CRISIS_TIMEOUT: Millis = Millis::from_seconds(900);
/// When each level is paged in a crisis, in units of the interval.
const CRISIS_STEPS: [u64; 4] = [0, 1, 3, 5];

impl Default for EscalationTimes {
    fn default() -> Self {
        EscalationTimes {
            profile: Profile::Standard,
            default_timeout: Millis::from_seconds(300),
            max_timeout: Millis::from_seconds(600),
            medium: Millis::from_seconds(60),
            high: Millis::from_seconds(30),
            critical: Millis::from_seconds(10),
            crisis: Millis::from_seconds(60),
        }
    }
}

impl EscalationTimes {
    /// The schedule of a request that is created now. A caller may ask for a shorter or longer
    /// deadline than the default, up to the maximum, but never for none.
    pub fn schedule(
        &self,
        created: Timestamp,
        tier: Tier,
        crisis: bool,
        asked: Option<Millis>,
    ) -> Schedule {
        let interval = self.interval(tier, crisis);
        let least = if crisis { CRISIS_TIMEOUT } else { Millis(1) };
        let wanted = asked.unwrap_or(self.default_timeout).max(least);
        let wanted = wanted.min(self.max_timeout).max(Millis(1));
        let allowed = match self.profile {
            // In a crisis the next people are paged instead of an early end.
            Profile::Strict if !crisis => wanted.min(interval),
            Profile::Standard | Profile::Strict => wanted,
        };
        Schedule { created, deadline: created.plus(allowed), interval }
    }

    fn interval(&self, tier: Tier, crisis: bool) -> Millis {
        let span = match tier {
            _ if crisis => self.crisis,
            Tier::Safe | Tier::Low | Tier::Medium => self.medium,
            Tier::High => self.high,
            Tier::Critical => self.critical,
        };
        span.max(Millis(1))
    }
}

/// When a request escalates and when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// When it was created.
    pub created: Timestamp,
    /// From this time on it cannot be approved.
    pub deadline: Timestamp,
    /// Between two escalations.
    pub interval: Millis,
}

impl Schedule {
    /// Whether the deadline has passed.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now >= self.deadline
    }

    /// The level that a request in a crisis should have reached.
    pub fn crisis_level_at(&self, now: Timestamp) -> EscalationLevel {
        let waited = self.created.until(now).0;
        let reached = CRISIS_STEPS.iter().rposition(|step| waited >= self.after_steps(*step).0);
        reached
            .and_then(|index| EscalationLevel::ALL.get(index).copied())
            .unwrap_or(EscalationLevel::First)
    }

    /// When a request in a crisis at this level needs its next transition.
    pub fn crisis_next_due(&self, level: EscalationLevel) -> Timestamp {
        let above = level.next().map(|above| above.index() as usize);
        let Some(step) = above.and_then(|index| CRISIS_STEPS.get(index)) else {
            return self.deadline;
        };
        self.created.plus(self.after_steps(*step)).min(self.deadline)
    }

    fn after_steps(&self, steps: u64) -> Millis {
        Millis(self.interval.0.saturating_mul(steps))
    }

    /// The level that the request should have reached.
    pub fn level_at(&self, now: Timestamp) -> EscalationLevel {
        let waited = self.created.until(now).0;
        let intervals = waited.checked_div(self.interval.0).unwrap_or(u64::MAX);
        u32::try_from(intervals)
            .ok()
            .and_then(EscalationLevel::from_index)
            .unwrap_or(EscalationLevel::Emergency)
    }

    /// When a request at this level needs its next transition.
    pub fn next_due(&self, level: EscalationLevel) -> Timestamp {
        let Some(above) = level.next() else { return self.deadline };
        let escalation =
            self.created.plus(Millis(self.interval.0.saturating_mul(above.index().into())));
        escalation.min(self.deadline)
    }
}
