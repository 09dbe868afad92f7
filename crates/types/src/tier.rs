//! Tiers and points: the scale of every assessment.

use serde::{Serialize, Serializer};

/// How much damage a call can do. Tiers combine by `max`, never by average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Tier {
    /// Reads, searches, prints. No person is asked.
    Safe,
    /// Ordinary local changes. A person is asked only if the assessment is uncertain.
    Low,
    /// Acts outside the workspace, or cannot be fully understood. A person is asked.
    Medium,
    /// Destroys work, changes the system, reveals secrets. A person is asked.
    High,
    /// Cannot be undone, or affects everything. A person is asked and must give a reason.
    Critical,
}

impl Tier {
    /// All tiers, lowest first.
    pub const ALL: [Tier; 5] = [Tier::Safe, Tier::Low, Tier::Medium, Tier::High, Tier::Critical];

    /// The label used in every interface.
    pub const fn label(self) -> &'static str {
        match self {
            Tier::Safe => "SAFE",
            Tier::Low => "LOW",
            Tier::Medium => "MEDIUM",
            Tier::High => "HIGH",
            Tier::Critical => "CRITICAL",
        }
    }

    /// The emoji used in every interface.
    pub const fn emoji(self) -> &'static str {
        match self {
            Tier::Safe => "\u{2705}",
            Tier::Low => "\u{1f7e1}",
            Tier::Medium => "\u{1f7e0}",
            Tier::High => "\u{1f534}",
            Tier::Critical => "\u{1f6a8}",
        }
    }

    /// Seconds until an unanswered request escalates to the next level; `None` for tiers that ask
    /// no person.
    pub const fn escalation_seconds(self) -> Option<u32> {
        match self {
            Tier::Safe | Tier::Low => None,
            Tier::Medium => Some(60),
            Tier::High => Some(30),
            Tier::Critical => Some(10),
        }
    }

    /// Whether this tier alone requires a person's approval.
    pub const fn requires_human(self) -> bool {
        matches!(self, Tier::Medium | Tier::High | Tier::Critical)
    }

    /// The lowest points of this tier.
    pub const fn points(self) -> Points {
        Points(match self {
            Tier::Safe => 0,
            Tier::Low => 100,
            Tier::Medium => 200,
            Tier::High => 300,
            Tier::Critical => 400,
        })
    }

    /// Reads a label in any case.
    pub fn parse(text: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|t| t.label().eq_ignore_ascii_case(text))
    }
}

/// Hundredths of a point, 0 to 400. Integers, so that equal input gives equal output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Points(pub u16);

impl Points {
    /// The highest value.
    pub const MAX: Points = Points(400);

    /// Adds; saturates at `MAX`.
    #[must_use]
    pub const fn plus(self, other: Points) -> Points {
        let sum = self.0.saturating_add(other.0);
        if sum > Self::MAX.0 { Self::MAX } else { Points(sum) }
    }

    /// The tier these points fall into.
    pub const fn tier(self) -> Tier {
        match self.0 {
            0..100 => Tier::Safe,
            100..200 => Tier::Low,
            200..300 => Tier::Medium,
            300..400 => Tier::High,
            _ => Tier::Critical,
        }
    }

    /// As a number of points, 0.0 to 4.0.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// As a risk, 0.0 to 1.0.
    pub fn risk(self) -> f64 {
        f64::from(self.0) / 400.0
    }
}

impl Serialize for Points {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tier_is_the_floor_of_points() {
        assert_eq!(Points(99).tier(), Tier::Safe);
        assert_eq!(Points(100).tier(), Tier::Low);
        assert_eq!(Points(399).tier(), Tier::High);
        assert_eq!(Points(390).plus(Points(90)).tier(), Tier::Critical);
        for tier in Tier::ALL {
            assert_eq!(tier.points().tier(), tier);
            assert_eq!(Tier::parse(tier.label()), Some(tier));
        }
    }

    #[test]
    fn escalation_seconds_by_tier() {
        assert_eq!(Tier::Medium.escalation_seconds(), Some(60));
        assert_eq!(Tier::High.escalation_seconds(), Some(30));
        assert_eq!(Tier::Critical.escalation_seconds(), Some(10));
        assert_eq!(Tier::Low.escalation_seconds(), None);
        assert!(!Tier::Low.requires_human() && Tier::Medium.requires_human());
    }
}
