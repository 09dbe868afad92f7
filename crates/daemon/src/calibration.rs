//! What other thresholds would have meant for calls that people have answered. Changes nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use countersign_risk::context::Platform;
use countersign_risk::verdict::Policy;
use countersign_store::StoredRequest;
use countersign_text::humanize::thousands;
use countersign_types::tier::{Points, Tier};
use countersign_workflow::request::{Decider, State};
use serde::Serialize;
use serde_json::Value;

/// Answered calls that were judged alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bucket {
    /// Their points.
    pub points: Points,
    /// Their tier.
    pub tier: Tier,
    /// How sure the judgement was, 0 to 1.
    pub confidence: f64,
    /// Whether the crisis rules held: then they are asked whatever is set.
    pub crisis: bool,
    /// So many were approved,
    pub approved: u64,
    /// denied,
    pub denied: u64,
    /// or not answered in time.
    pub expired: u64,
    /// The same confidence in hundredths.
    #[serde(skip)]
    sure: u8,
}

/// What is tried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// LOW passes from this confidence on, in hundredths.
    pub low_confidence: u8,
    /// A judge may pass MEDIUM below these points.
    pub medium: Points,
}

/// What it would have meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meant {
    /// So many would not have been asked about.
    pub fewer: u64,
    /// So many of them people denied.
    pub denied: u64,
}

impl Setting {
    /// What is in force.
    pub fn of(policy: &Policy) -> Setting {
        Setting {
            low_confidence: policy.low_confidence,
            medium: policy.thresholds.of(Platform::Api),
        }
    }

    /// Whether such calls would have passed.
    fn passes(self, bucket: &Bucket) -> bool {
        match bucket.tier {
            _ if bucket.crisis => false,
            Tier::Safe => true,
            Tier::Low => bucket.sure >= self.low_confidence,
            Tier::Medium => bucket.points < self.medium,
            Tier::High | Tier::Critical => false,
        }
    }

    /// What it would have meant for these calls.
    pub fn meant(self, buckets: &[Bucket]) -> Meant {
        let mut meant = Meant::default();
        for bucket in buckets.iter().filter(|bucket| self.passes(bucket)) {
            meant.fewer += bucket.approved + bucket.denied + bucket.expired;
            meant.denied += bucket.denied;
        }
        meant
    }

    /// The same in one sentence. The page's script says it in the same words.
    pub fn sentence(self, buckets: &[Bucket]) -> String {
        let Meant { fewer, denied } = self.meant(buckets);
        let times = match fewer {
            1 => "once less".to_owned(),
            many => format!("{} times fewer", thousands(many)),
        };
        let calls = match denied {
            0 => "no call that was denied would have passed".to_owned(),
            1 => "1 call that was denied would have passed".to_owned(),
            many => format!("{} calls that were denied would have passed", thousands(many)),
        };
        if fewer == 0 {
            return "With this setting you would have been asked no less.".to_owned();
        }
        format!("With this setting you would have been asked {times}; {calls}.")
    }

    /// The lines of the configuration that differ from what is in force.
    pub fn lines(self, now: Setting) -> String {
        let mut lines = String::new();
        let two = |hundredths: u16| format!("{}.{:02}", hundredths / 100, hundredths % 100);
        if self.low_confidence != now.low_confidence {
            let _ = writeln!(lines, "low_confidence = {}", two(self.low_confidence.into()));
        }
        if self.medium != now.medium {
            for platform in ["api", "telegram", "discord", "cli"] {
                let _ = writeln!(lines, "{platform}_threshold = {}", two(self.medium.0));
            }
        }
        if lines.is_empty() { "# as it is now".to_owned() } else { format!("[judgement]\n{lines}") }
    }
}

/// Calls that people answered, or should have, put together by how they were judged.
pub fn buckets(requests: &[StoredRequest]) -> Vec<Bucket> {
    let mut found = BTreeMap::<(Points, Tier, u8, bool), Bucket>::new();
    for stored in requests {
        let request = &stored.request;
        let Some(decision) = &request.decision else { continue };
        if !matches!(decision.by, Decider::People(_) | Decider::Deadline) {
            continue;
        }
        let Some((points, sure)) = judged(&stored.card) else { continue };
        let bucket = found.entry((points, request.tier, sure, request.crisis));
        let bucket = bucket.or_insert_with(|| Bucket {
            points,
            tier: request.tier,
            confidence: f64::from(sure) / 100.0,
            crisis: request.crisis,
            approved: 0,
            denied: 0,
            expired: 0,
            sure,
        });
        match request.state {
            State::Approved => bucket.approved += 1,
            State::Denied => bucket.denied += 1,
            State::Expired => bucket.expired += 1,
            State::Pending | State::Cancelled => {}
        }
    }
    found.into_values().collect()
}

/// Points and confidence that were kept with a request.
fn judged(card: &str) -> Option<(Points, u8)> {
    let card: Value = serde_json::from_str(card).ok()?;
    let hundredths = |name: &str, most: u16| {
        let value = card.get(name)?.as_f64()?;
        (0..=most).find(|whole| (f64::from(*whole) / 100.0 - value).abs() < 0.005)
    };
    let points = hundredths("points", Points::MAX.0)?;
    Some((Points(points), u8::try_from(hundredths("confidence", 100)?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(points: u16, sure: u8, counts: (u64, u64, u64), crisis: bool) -> Bucket {
        let (approved, denied, expired) = counts;
        let tier = Points(points).tier();
        let (points, confidence) = (Points(points), f64::from(sure) / 100.0);
        Bucket { points, tier, confidence, crisis, approved, denied, expired, sure }
    }

    #[test]
    fn a_setting_says_what_it_would_have_meant() {
        let buckets = [
            bucket(120, 60, (30, 1, 0), false),
            bucket(150, 75, (9, 0, 1), false),
            bucket(210, 90, (40, 1, 0), false),
            bucket(250, 90, (5, 5, 5), false),
            bucket(210, 90, (0, 7, 0), true),
            bucket(320, 99, (3, 3, 3), false),
            bucket(400, 99, (1, 1, 1), false),
        ];
        let meant = |low_confidence, medium| {
            let meant = Setting { low_confidence, medium: Points(medium) }.meant(&buckets);
            (meant.fewer, meant.denied)
        };
        assert_eq!(meant(80, 150), (0, 0));
        assert_eq!(meant(70, 150), (10, 0));
        assert_eq!(meant(60, 200), (41, 1));
        assert_eq!(meant(60, 220), (82, 2));
        // Nothing lets HIGH, CRITICAL or a crisis pass.
        assert_eq!(meant(0, 400), (97, 7));
        let said = Setting { low_confidence: 60, medium: Points(220) }.sentence(&buckets);
        assert_eq!(
            said,
            "With this setting you would have been asked 82 times fewer; 2 calls that were denied \
             would have passed."
        );
    }

    #[test]
    fn only_what_differs_is_to_be_written() {
        let now = Setting::of(&Policy::default());
        assert_eq!(now.lines(now), "# as it is now");
        let lower = Setting { low_confidence: 65, ..now };
        assert_eq!(lower.lines(now), "[judgement]\nlow_confidence = 0.65\n");
        let both = Setting { low_confidence: 100, medium: Points(205) }.lines(now);
        assert!(both.contains("low_confidence = 1.00\n") && both.contains("cli_threshold = 2.05"));
    }
}
