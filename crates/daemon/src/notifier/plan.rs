//! Which channels are notified, and when to retry: pure functions of levels and earlier attempts.

use std::time::Duration;

use countersign_store::{AttemptResult, DeliveryStatus};
use countersign_workflow::request::EscalationLevel;

/// Recorded if a newer announcement arrived before this one was sent.
pub const SUPERSEDED_UNSENT: &str = "not sent: there was newer news";
/// Recorded if this one may have been sent when a newer announcement arrived.
pub const SUPERSEDED_SENT: &str = "not sent again: there is newer news";

/// Whether this text records an attempt that a newer announcement replaced.
pub fn is_superseded(words: &str) -> bool {
    words == SUPERSEDED_UNSENT || words == SUPERSEDED_SENT
}

/// The first pause after a failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// A channel to notify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The channel.
    pub channel: String,
    /// The escalation level that it belongs to.
    pub level: EscalationLevel,
    /// Notified early, because every channel below has failed.
    pub early: bool,
}

/// The channels for a request on this level. If all of them have failed permanently, the next level
/// is notified at once; the request itself escalates at its usual time.
pub fn targets(
    levels: &[Vec<String>; 4],
    level: EscalationLevel,
    failed: impl Fn(&str) -> bool,
) -> Vec<Target> {
    let mut list: Vec<Target> = Vec::new();
    for (channels, on) in levels.iter().zip(EscalationLevel::ALL) {
        let early = on > level;
        if early && (list.is_empty() || !list.iter().all(|target| failed(&target.channel))) {
            break;
        }
        for channel in channels {
            if !list.iter().any(|target| target.channel == *channel) {
                list.push(Target { channel: channel.clone(), level: on, early });
            }
        }
    }
    list
}

/// Whether a channel has finished an announcement.
pub fn finished(tried: &[DeliveryStatus], channel: &str) -> bool {
    tried.iter().any(|delivery| {
        let has_ended =
            matches!(delivery.result, AttemptResult::Delivered(_) | AttemptResult::Failed(_));
        has_ended && delivery.channel == channel
    })
}

/// Whether a channel has failed permanently.
pub fn failed(tried: &[DeliveryStatus], channel: &str) -> bool {
    tried.iter().any(|delivery| {
        matches!(delivery.result, AttemptResult::Failed(_)) && delivery.channel == channel
    })
}

/// Whether a channel shows a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptState {
    /// No prompt.
    NotShown,
    /// Perhaps a prompt, with an unknown id.
    Unknown,
    /// A prompt with this id.
    Named(String),
}

/// Whether a channel may show a prompt, and its id. `deliveries` are in the order of their
/// announcements; `unknown` is the result if nothing was recorded.
pub fn prompt(deliveries: &[DeliveryStatus], channel: &str, unknown: bool) -> PromptState {
    let mut seen = PromptState::NotShown;
    let mut any = false;
    for delivery in deliveries.iter().filter(|delivery| delivery.channel == channel) {
        any = true;
        match &delivery.result {
            AttemptResult::Delivered(name) => seen = PromptState::Named(name.clone()),
            AttemptResult::Retry(why, _)
                if why != SUPERSEDED_UNSENT && seen == PromptState::NotShown =>
            {
                seen = PromptState::Unknown;
            }
            AttemptResult::Retry(..) | AttemptResult::Failed(_) => {}
        }
    }
    if !any && unknown { PromptState::Unknown } else { seen }
}

/// The pause after this many failures: 1, 2, 4 … 60 seconds, with a random jitter of up to a
/// quarter, so that simultaneous failures are not retried simultaneously.
pub fn pause(failures: u32, random: u8) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(6));
    let base = doubled.min(LONGEST_PAUSE);
    base.saturating_add(base / 4 * u32::from(random) / 256).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use countersign_types::time::Timestamp;

    use super::*;

    fn escalation(names: [&[&str]; 4]) -> [Vec<String>; 4] {
        names.map(|level| level.iter().map(|&name| name.to_owned()).collect())
    }

    fn names(targets: &[Target]) -> Vec<&str> {
        targets.iter().map(|target| target.channel.as_str()).collect()
    }

    #[test]
    fn each_level_adds_channels_without_duplicates() {
        let levels = escalation([&["a", "b"], &["b", "c"], &[], &["d"]]);
        let none = |_: &str| false;
        assert_eq!(names(&targets(&levels, EscalationLevel::First, none)), ["a", "b"]);
        assert_eq!(names(&targets(&levels, EscalationLevel::Next, none)), ["a", "b", "c"]);
        assert_eq!(
            names(&targets(&levels, EscalationLevel::Emergency, none)),
            ["a", "b", "c", "d"]
        );
    }

    #[test]
    fn the_next_level_is_early_only_if_all_channels_failed() {
        let levels = escalation([&["a", "b"], &["c"], &[], &["d"]]);
        let some = targets(&levels, EscalationLevel::First, |name| name == "a");
        assert_eq!(names(&some), ["a", "b"]);
        let all = targets(&levels, EscalationLevel::First, |name| name != "c" && name != "d");
        assert_eq!(names(&all), ["a", "b", "c"]);
        assert!(all[2].early && all[2].level == EscalationLevel::Next && !all[0].early);
        // An empty level does not delay the next one.
        let every = targets(&levels, EscalationLevel::First, |name| name != "d");
        assert_eq!(names(&every), ["a", "b", "c", "d"]);
    }

    #[test]
    fn an_empty_level_does_not_escalate_early() {
        let levels = escalation([&[], &["a"], &[], &[]]);
        assert!(targets(&levels, EscalationLevel::First, |_| true).is_empty());
    }

    #[test]
    fn prompts_are_withdrawn_where_they_may_be_shown() {
        let delivery = |channel: &str, result| DeliveryStatus {
            channel: channel.to_owned(),
            attempts: 1,
            result,
            at: Timestamp(0),
        };
        let again = |why: &str| AttemptResult::Retry(why.to_owned(), Timestamp(0));
        let kept = [
            delivery("arrived", AttemptResult::Delivered("7".to_owned())),
            delivery("failed", AttemptResult::Failed("gone".to_owned())),
            delivery("maybe", again("no answer in time")),
            delivery("never", again(SUPERSEDED_UNSENT)),
            delivery("arrived", again("no answer in time")),
        ];
        assert_eq!(prompt(&kept, "arrived", false), PromptState::Named("7".to_owned()));
        assert_eq!(prompt(&kept, "failed", true), PromptState::NotShown);
        assert_eq!(prompt(&kept, "maybe", false), PromptState::Unknown);
        assert_eq!(prompt(&kept, "never", true), PromptState::NotShown);
        assert_eq!(prompt(&kept, "unheard", true), PromptState::Unknown);
        assert_eq!(prompt(&kept, "unheard", false), PromptState::NotShown);
    }

    #[test]
    fn pauses_double_and_stay_between_a_second_and_a_minute() {
        let seconds: Vec<u64> = (1..=9).map(|n| pause(n, 0).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        for failures in [0, 1, 5, 40, u32::MAX] {
            for random in [0, 128, 255] {
                let pause = pause(failures, random);
                assert!(pause >= FIRST_PAUSE && pause <= LONGEST_PAUSE);
            }
        }
        assert!(pause(4, 255) > pause(4, 0));
    }
}
