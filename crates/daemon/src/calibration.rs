//! What other thresholds would have changed for calls that people answered. Read-only.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use countersign_risk::context::Platform;
use countersign_risk::verdict::Policy;
use countersign_store::StoredRequest;
use countersign_text::humanize::thousands;
use countersign_types::id::Id;
use countersign_types::tier::{Points, Tier};
use countersign_workflow::request::{Decider, State};
use serde::Serialize;
use serde_json::Value;

/// Answered calls with the same score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreBucket {
    /// Their points.
    pub points: Points,
    /// Their tier.
    pub tier: Tier,
    /// The confidence of the assessment, 0 to 1.
    pub confidence: f64,
    /// Whether the crisis rules applied: then a person is asked at any threshold.
    pub crisis: bool,
    /// How many were approved.
    pub approved: u64,
    /// How many were denied.
    pub denied: u64,
    /// How many were not answered in time.
    pub expired: u64,
    /// The confidence in percent.
    #[serde(skip)]
    confidence_percent: u8,
}

/// Thresholds to try out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdSetting {
    /// LOW passes from this confidence on, in percent.
    pub low_confidence: u8,
    /// A judge may pass MEDIUM below these points.
    pub medium: Points,
}

/// What the thresholds would have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThresholdEffect {
    /// Questions that would not have been asked.
    pub fewer: u64,
    /// How many of them people denied.
    pub denied: u64,
}

impl ThresholdSetting {
    /// The current thresholds.
    pub fn of(policy: &Policy) -> ThresholdSetting {
        ThresholdSetting {
            low_confidence: policy.low_confidence,
            medium: policy.thresholds.of(Platform::Api),
        }
    }

    /// Whether such calls would have passed.
    fn passes(self, bucket: &ScoreBucket) -> bool {
        match bucket.tier {
            _ if bucket.crisis => false,
            Tier::Safe => true,
            Tier::Low => bucket.confidence_percent >= self.low_confidence,
            Tier::Medium => bucket.points < self.medium,
            Tier::High | Tier::Critical => false,
        }
    }

    /// The effect on these calls.
    pub fn effect(self, buckets: &[ScoreBucket]) -> ThresholdEffect {
        let mut effect = ThresholdEffect::default();
        for bucket in buckets.iter().filter(|bucket| self.passes(bucket)) {
            effect.fewer += bucket.approved + bucket.denied + bucket.expired;
            effect.denied += bucket.denied;
        }
        effect
    }

    /// The effect in one sentence. The page's script uses the same words.
    pub fn sentence(self, buckets: &[ScoreBucket]) -> String {
        let ThresholdEffect { fewer, denied } = self.effect(buckets);
        let times = match fewer {
            1 => "1 question".to_owned(),
            many => format!("{} questions", thousands(many)),
        };
        let calls = match denied {
            0 => "no denied call would have passed".to_owned(),
            1 => "1 denied call would have passed".to_owned(),
            many => format!("{} denied calls would have passed", thousands(many)),
        };
        if fewer == 0 {
            return "With these thresholds no question would have been avoided.".to_owned();
        }
        format!("With these thresholds {times} would have been avoided; {calls}.")
    }

    /// The lines of the configuration that differ from the current thresholds.
    pub fn config_lines(self, now: ThresholdSetting) -> String {
        let mut config_lines = String::new();
        let two = |hundredths: u16| format!("{}.{:02}", hundredths / 100, hundredths % 100);
        if self.low_confidence != now.low_confidence {
            let _ = writeln!(config_lines, "low_confidence = {}", two(self.low_confidence.into()));
        }
        if self.medium != now.medium {
            for platform in ["api", "telegram", "discord", "cli"] {
                let _ = writeln!(config_lines, "{platform}_threshold = {}", two(self.medium.0));
            }
        }
        if config_lines.is_empty() {
            "# unchanged".to_owned()
        } else {
            format!("[assessment]\n{config_lines}")
        }
    }
}

/// Answered and expired calls, grouped by score. An approval that people regretted counts as a
/// denial.
pub fn buckets(requests: &[StoredRequest], regretted: &HashSet<Id>) -> Vec<ScoreBucket> {
    let mut found = BTreeMap::<(Points, Tier, u8, bool), ScoreBucket>::new();
    for stored in requests {
        let request = &stored.request;
        let Some(decision) = &request.decision else { continue };
        if !matches!(decision.by, Decider::People(_) | Decider::Deadline) {
            continue;
        }
        let Some((points, confidence_percent)) = assessed(&stored.card) else { continue };
        let bucket = found.entry((points, request.tier, confidence_percent, request.crisis));
        let bucket = bucket.or_insert_with(|| ScoreBucket {
            points,
            tier: request.tier,
            confidence: f64::from(confidence_percent) / 100.0,
            crisis: request.crisis,
            approved: 0,
            denied: 0,
            expired: 0,
            confidence_percent,
        });
        match request.state {
            State::Approved if !regretted.contains(&request.id) => bucket.approved += 1,
            State::Approved | State::Denied => bucket.denied += 1,
            State::Expired => bucket.expired += 1,
            State::Pending | State::Cancelled => {}
        }
    }
    found.into_values().collect()
}

/// The points and confidence that were stored with a request.
fn assessed(card: &str) -> Option<(Points, u8)> {
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

    fn bucket(
        points: u16,
        confidence_percent: u8,
        counts: (u64, u64, u64),
        crisis: bool,
    ) -> ScoreBucket {
        let (approved, denied, expired) = counts;
        let tier = Points(points).tier();
        let (points, confidence) = (Points(points), f64::from(confidence_percent) / 100.0);
        ScoreBucket {
            points,
            tier,
            confidence,
            crisis,
            approved,
            denied,
            expired,
            confidence_percent,
        }
    }

    #[test]
    fn thresholds_report_their_effect() {
        let buckets = [
            bucket(120, 60, (30, 1, 0), false),
            bucket(150, 75, (9, 0, 1), false),
            bucket(210, 90, (40, 1, 0), false),
            bucket(250, 90, (5, 5, 5), false),
            bucket(210, 90, (0, 7, 0), true),
            bucket(320, 99, (3, 3, 3), false),
            bucket(400, 99, (1, 1, 1), false),
        ];
        let effect = |low_confidence, medium| {
            let effect =
                ThresholdSetting { low_confidence, medium: Points(medium) }.effect(&buckets);
            (effect.fewer, effect.denied)
        };
        assert_eq!(effect(80, 150), (0, 0));
        assert_eq!(effect(70, 150), (10, 0));
        assert_eq!(effect(60, 200), (41, 1));
        assert_eq!(effect(60, 220), (82, 2));
        // Nothing lets HIGH, CRITICAL or a crisis pass.
        assert_eq!(effect(0, 400), (97, 7));
        let said = ThresholdSetting { low_confidence: 60, medium: Points(220) }.sentence(&buckets);
        assert_eq!(
            said,
            "With these thresholds 82 questions would have been avoided; 2 denied calls would have \
             passed."
        );
    }

    #[test]
    fn only_changed_thresholds_are_listed() {
        let now = ThresholdSetting::of(&Policy::default());
        assert_eq!(now.config_lines(now), "# unchanged");
        let lower = ThresholdSetting { low_confidence: 65, ..now };
        assert_eq!(lower.config_lines(now), "[assessment]\nlow_confidence = 0.65\n");
        let both = ThresholdSetting { low_confidence: 100, medium: Points(205) }.config_lines(now);
        assert!(both.contains("low_confidence = 1.00\n") && both.contains("cli_threshold = 2.05"));
    }
}
