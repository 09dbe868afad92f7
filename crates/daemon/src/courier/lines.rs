//! Open channels by name, as the rules in force have them, each at its own pace.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_channels::webpush::{Browsers, WebPush};
use countersign_channels::{Channel, ChannelError, ChannelLimits, ChannelSettings};
use countersign_types::time::Timestamp;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::Tries;
use crate::config::Rules;

/// So many messages of one channel are on their way at the same time.
const AT_ONCE: usize = 8;
/// Between two complaints about what a channel's hook is sent.
const COMPLAINT: Duration = Duration::from_mins(1);
/// So many messages may come together before the pace counts.
const TOGETHER: u32 = 10;

/// The open channels.
#[derive(Debug, Default)]
pub struct Lines {
    open: Mutex<Open>,
    browsers: Arc<Browsers>,
}

#[derive(Debug, Default)]
struct Open {
    /// For which rules; other rules mean other channels.
    rules: Option<Arc<Rules>>,
    lines: HashMap<String, Result<Arc<Line>, ChannelError>>,
}

/// One open channel.
#[derive(Debug)]
pub struct Line {
    /// The channel.
    pub channel: Arc<dyn Channel>,
    /// Room for what is on its way.
    pub room: Semaphore,
    /// What it keeps to.
    pub limits: ChannelLimits,
    /// Tests with a button of their own.
    pub tries: Tries,
    pace: Mutex<Pace>,
    health: Mutex<Health>,
    complained: Mutex<Option<Instant>>,
}

/// How it went last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// When somebody was last told.
    pub told: Option<Timestamp>,
    /// When it last failed, and why; forgotten once it works again.
    pub failed: Option<(Timestamp, String)>,
}

impl Lines {
    /// The browsers that asked to be called.
    pub fn browsers(&self) -> &Arc<Browsers> {
        &self.browsers
    }

    /// A channel under the rules in force, or why there is none.
    pub fn get(&self, rules: &Arc<Rules>, name: &str) -> Result<Arc<Line>, ChannelError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.rules.as_ref().is_some_and(|known| Arc::ptr_eq(known, rules)) {
            *open = Open { rules: Some(Arc::clone(rules)), lines: HashMap::new() };
        }
        if let Some(line) = open.lines.get(name) {
            return line.clone();
        }
        let line = match rules.channels.get(name) {
            None => Err(ChannelError::permanent("this channel is no longer set up")),
            Some(set_up) => {
                let open = match &set_up.settings {
                    ChannelSettings::WebPush(settings) => {
                        let browsers = Arc::clone(&self.browsers);
                        let push = WebPush::new(name, set_up.limits, settings, browsers);
                        Ok(Arc::new(push) as Arc<dyn Channel>)
                    }
                    settings => settings.open(name, set_up.limits),
                };
                open.map(|channel| Arc::new(Line::new(channel, set_up.limits)))
            }
        };
        open.lines.insert(name.to_owned(), line.clone());
        line
    }
}

impl Line {
    /// An open channel that keeps to its limits.
    pub fn new(channel: Arc<dyn Channel>, limits: ChannelLimits) -> Line {
        let pace = Mutex::new(Pace::new(limits.per_minute));
        let room = Semaphore::new(AT_ONCE);
        let (tries, health, complained) = (Tries::default(), Mutex::default(), Mutex::default());
        Line { channel, room, limits, tries, pace, health, complained }
    }

    /// Remembers how an attempt went.
    pub fn went(&self, error: Option<&ChannelError>, now: Timestamp) {
        let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            None => *health = Health { told: Some(now), failed: None },
            Some(error) => health.failed = Some((now, error.problem.clone())),
        }
    }

    /// How it went last.
    pub fn health(&self) -> Health {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it is time to complain about what comes in through it: once in a while, for whoever
    /// can reach a hook could fill the log otherwise.
    pub fn may_complain(&self, now: Instant) -> bool {
        let mut last = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        let may = last.is_none_or(|last| now.duration_since(last) >= COMPLAINT);
        if may {
            *last = Some(now);
        }
        may
    }

    /// How long to wait before the next message, if that is short enough.
    pub fn wait(&self, at_most: Duration) -> Option<Duration> {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        pace.next(Instant::now(), at_most)
    }
}

/// So many a minute, a few of them together.
#[derive(Debug)]
struct Pace {
    between: Duration,
    ahead: Duration,
    /// When the next one would be due if all came evenly.
    even: Option<Instant>,
}

impl Pace {
    fn new(per_minute: u32) -> Pace {
        let between = Duration::from_mins(1) / per_minute.max(1);
        let together = TOGETHER.min(per_minute.max(1));
        Pace { between, ahead: between * (together - 1), even: None }
    }

    fn next(&mut self, now: Instant, at_most: Duration) -> Option<Duration> {
        let even = self.even.unwrap_or(now).max(now);
        let wait = even.saturating_duration_since(now).saturating_sub(self.ahead);
        if wait > at_most {
            return None;
        }
        self.even = Some(even + self.between);
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_that_is_hammered_fills_no_log() {
        let limits = ChannelSettings::usual("terminal");
        let line = Line::new(ChannelSettings::Terminal.open("terminal", limits).unwrap(), limits);
        let now = Instant::now();
        assert!(line.may_complain(now));
        assert!(!line.may_complain(now) && !line.may_complain(now + COMPLAINT / 2));
        assert!(line.may_complain(now + COMPLAINT));
    }

    #[test]
    fn a_few_come_together_and_the_rest_keeps_the_pace() {
        let (mut pace, now) = (Pace::new(60), Instant::now());
        let second = Duration::from_secs(1);
        for _ in 0..TOGETHER {
            assert_eq!(pace.next(now, second * 60), Some(Duration::ZERO));
        }
        assert_eq!(pace.next(now, second * 60), Some(second));
        assert_eq!(pace.next(now, second * 60), Some(second * 2));
        // Who cannot wait takes nobody's place.
        assert_eq!(pace.next(now, second * 2), None);
        assert_eq!(pace.next(now, second * 60), Some(second * 3));
        assert_eq!(pace.next(now + second * 3600, second), Some(Duration::ZERO));
    }
}
