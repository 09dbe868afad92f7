//! Whether a drill may come now: pure functions of the conditions, the time and a random number.

use countersign_types::time::{Millis, Timestamp};

const WEEK: u64 = 7 * 86_400_000;
/// With one drill per week, the average number of eligible minutes before it comes.
const MINUTES: u64 = 1_200;

/// The conditions for a drill.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is true or not, whatever the others are")]
pub struct Conditions {
    /// A person uses the inbox, or it is one of the hours for drills.
    pub someone_is_available: bool,
    /// It is one of the quiet hours.
    pub quiet: bool,
    /// A person may be in crisis.
    pub crisis: bool,
    /// A real HIGH or CRITICAL request, or one in a crisis, is pending.
    pub grave: bool,
    /// A drill is pending.
    pub open: bool,
}

/// Why there is no drill now.
#[derive(Debug, thiserror::Error)]
pub enum DrillRefusal {
    /// No person is at the inbox.
    #[error("no person is at the inbox, and this hour is not one for drills")]
    Asleep,
    /// Quiet hours.
    #[error("these are quiet hours")]
    Quiet,
    /// A crisis.
    #[error("a person may be in crisis")]
    Crisis,
    /// A request of high risk is pending.
    #[error("a request of high risk is pending")]
    Grave,
    /// One at a time.
    #[error("another drill is pending")]
    Open,
    /// No agent that the card could show.
    #[error("no agent has asked for anything yet")]
    NoAgent,
    /// Every call of the drills passes by the rules.
    #[error("under these rules every call of the drills passes without a question")]
    NoCall,
    /// It could not be made.
    #[error(transparent)]
    Rejected(#[from] crate::gate::Rejection),
}

impl Conditions {
    /// Whether a drill is allowed now.
    pub fn allows(self) -> Result<(), DrillRefusal> {
        match self {
            Conditions { crisis: true, .. } => Err(DrillRefusal::Crisis),
            Conditions { grave: true, .. } => Err(DrillRefusal::Grave),
            Conditions { open: true, .. } => Err(DrillRefusal::Open),
            Conditions { quiet: true, .. } => Err(DrillRefusal::Quiet),
            Conditions { someone_is_available: false, .. } => Err(DrillRefusal::Asleep),
            Conditions { .. } => Ok(()),
        }
    }
}

/// Whether a drill comes in this minute: at most `per_week` in seven days, never two close
/// together, and otherwise by the random number.
pub fn is_due(per_week: u32, earlier: &[Timestamp], now: Timestamp, drawn: u32) -> bool {
    let per_week = u64::from(per_week);
    let Some(apart) = WEEK.checked_div(per_week.saturating_mul(4)) else { return false };
    let within = |span: u64| earlier.iter().filter(|at| at.plus(Millis(span)) > now).count() as u64;
    let drawn = u64::from(drawn).saturating_mul(MINUTES) < per_week << 32;
    drawn && within(WEEK) < per_week && within(apart) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_prevent_a_drill() {
        let calm = Conditions { someone_is_available: true, ..Conditions::default() };
        assert!(calm.allows().is_ok());
        for conditions in [
            Conditions { someone_is_available: false, ..calm },
            Conditions { quiet: true, ..calm },
            Conditions { crisis: true, ..calm },
            Conditions { grave: true, ..calm },
            Conditions { open: true, ..calm },
        ] {
            assert!(conditions.allows().is_err(), "{conditions:?}");
        }
    }

    /// A year of working hours with a seeded draw each minute.
    #[test]
    fn drills_come_at_random_within_their_limit() {
        let (minute, day) = (60_000, 86_400_000_i64);
        for per_week in [1_u32, 3, 20] {
            let (mut seed, mut came) = (7_u64, Vec::new());
            for today in 0..364 {
                for worked in 0..480 {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let now = Timestamp(today * day + (540 + worked) * minute);
                    if is_due(per_week, &came, now, u32::try_from(seed >> 32).unwrap()) {
                        came.push(now);
                    }
                }
            }
            let most = usize::try_from(52 * per_week).unwrap();
            assert!((most / 3..=most).contains(&came.len()), "{per_week}: {}", came.len());
            let minutes: std::collections::BTreeSet<i64> =
                came.iter().map(|at| at.0.rem_euclid(day) / minute).collect();
            assert!(minutes.len() > came.len() / 3, "{per_week}: {minutes:?}");
            for (at, one) in came.iter().enumerate() {
                let week = came[at..].iter().filter(|later| later.0 - one.0 < 7 * day).count();
                assert!(week <= usize::try_from(per_week).unwrap(), "{per_week}");
            }
        }
        assert!(!is_due(0, &[], Timestamp(0), 0), "off is off");
    }
}
