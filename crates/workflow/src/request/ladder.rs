//! The ladder: who is asked when, and the deadline at which silence becomes a no.

use countersign_types::tier::Tier;
use countersign_types::time::{Span, Timestamp};

/// Who is asked on a rung. Each climb asks these *as well*; nobody is taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// The first channel.
    First,
    /// The next channel.
    Next,
    /// The administrators.
    Administrators,
    /// The emergency notification; the last.
    Emergency,
}

impl Rung {
    /// From the lowest to the highest.
    pub const ALL: [Rung; 4] = [Rung::First, Rung::Next, Rung::Administrators, Rung::Emergency];

    /// The rung above.
    pub const fn above(self) -> Option<Rung> {
        match self {
            Rung::First => Some(Rung::Next),
            Rung::Next => Some(Rung::Administrators),
            Rung::Administrators => Some(Rung::Emergency),
            Rung::Emergency => None,
        }
    }

    /// How many climbs lead here.
    pub const fn climbs(self) -> u32 {
        match self {
            Rung::First => 0,
            Rung::Next => 1,
            Rung::Administrators => 2,
            Rung::Emergency => 3,
        }
    }

    /// The rung after so many climbs, if there is one.
    pub const fn after(climbs: u32) -> Option<Rung> {
        match climbs {
            0 => Some(Rung::First),
            1 => Some(Rung::Next),
            2 => Some(Rung::Administrators),
            3 => Some(Rung::Emergency),
            _ => None,
        }
    }

    /// The word on every surface.
    pub const fn label(self) -> &'static str {
        match self {
            Rung::First => "first",
            Rung::Next => "next",
            Rung::Administrators => "administrators",
            Rung::Emergency => "emergency",
        }
    }
}

/// What happens when nobody answers for long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Keep asking more people until the deadline.
    #[default]
    Standard,
    /// Deny after 60, 30 or 10 seconds, by tier.
    Strict,
}

/// The times a request keeps (mission 4.3). All of them may be set by an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Which profile.
    pub profile: Profile,
    /// The deadline where the caller names none.
    pub usual: Span,
    /// The latest deadline a caller may ask for.
    pub longest: Span,
    /// Between two climbs, for MEDIUM (and LOW where it asks).
    pub medium: Span,
    /// Between two climbs, for HIGH.
    pub high: Span,
    /// Between two climbs, for CRITICAL and crisis.
    pub critical: Span,
}

impl Default for Times {
    fn default() -> Self {
        Times {
            profile: Profile::Standard,
            usual: Span::seconds(300),
            longest: Span::seconds(600),
            medium: Span::seconds(60),
            high: Span::seconds(30),
            critical: Span::seconds(10),
        }
    }
}

impl Times {
    /// The plan of a request that is made now. A caller may ask for less time than usual, or for
    /// more up to the longest; never for none.
    pub fn plan(&self, created: Timestamp, tier: Tier, crisis: bool, asked: Option<Span>) -> Plan {
        let climb = self.between_climbs(tier, crisis);
        let wanted = asked.unwrap_or(self.usual).min(self.longest).max(Span(1));
        let allowed = match self.profile {
            Profile::Standard => wanted,
            Profile::Strict => wanted.min(climb),
        };
        Plan { created, deadline: created.plus(allowed), climb }
    }

    fn between_climbs(&self, tier: Tier, crisis: bool) -> Span {
        let span = match tier {
            _ if crisis => self.critical,
            Tier::Safe | Tier::Low | Tier::Medium => self.medium,
            Tier::High => self.high,
            Tier::Critical => self.critical,
        };
        span.max(Span(1))
    }
}

/// When a request climbs and when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// When it was made.
    pub created: Timestamp,
    /// From this moment on nobody can approve it any more.
    pub deadline: Timestamp,
    /// Between two climbs.
    pub climb: Span,
}

impl Plan {
    /// Whether its time is over.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now >= self.deadline
    }

    /// The rung on which it should stand by now.
    pub fn rung_at(&self, now: Timestamp) -> Rung {
        let waited = self.created.until(now).0;
        let climbs = waited.checked_div(self.climb.0).unwrap_or(u64::MAX);
        u32::try_from(climbs).ok().and_then(Rung::after).unwrap_or(Rung::Emergency)
    }

    /// The next moment at which something is due for a request on this rung.
    pub fn next_due(&self, rung: Rung) -> Timestamp {
        let Some(above) = rung.above() else { return self.deadline };
        let climb = self.created.plus(Span(self.climb.0.saturating_mul(above.climbs().into())));
        climb.min(self.deadline)
    }
}
