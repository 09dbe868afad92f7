//! Open channels by name, as configured, each with its own rate limit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_channels::webpush::{Browsers, WebPush};
use countersign_channels::{Channel, ChannelError, ChannelLimits, ChannelSettings};
use countersign_types::time::Timestamp;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::TestButtons;
use crate::config::DaemonRules;

/// The most concurrent messages of one channel.
const MAX_CONCURRENT: usize = 8;
/// The minimum time between two log lines about invalid input of a channel's hook.
const REJECTION_LOG_INTERVAL: Duration = Duration::from_mins(1);
/// The burst of the rate limit.
const BURST: u32 = 10;

/// The open channels.
#[derive(Debug, Default)]
pub struct ChannelPool {
    open: Mutex<Open>,
    browsers: Arc<Browsers>,
}

#[derive(Debug, Default)]
struct Open {
    /// The rules that the channels belong to; new rules open new channels.
    rules: Option<Arc<DaemonRules>>,
    channels: HashMap<String, Result<Arc<OpenChannel>, ChannelError>>,
}

/// One open channel.
#[derive(Debug)]
pub struct OpenChannel {
    /// The channel.
    pub channel: Arc<dyn Channel>,
    /// Limits concurrent messages.
    pub permits: Semaphore,
    /// The rate limit.
    pub limits: ChannelLimits,
    /// Test messages with a button.
    pub test_buttons: TestButtons,
    rate_limit: Mutex<RateLimit>,
    health: Mutex<ChannelHealth>,
    last_rejection_log: Mutex<Option<Instant>>,
}

/// The health of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelHealth {
    /// The time of the last delivered message.
    pub told: Option<Timestamp>,
    /// The last failure and its reason; cleared by a success.
    pub failed: Option<(Timestamp, String)>,
}

impl ChannelPool {
    /// The subscribed browsers.
    pub fn browsers(&self) -> &Arc<Browsers> {
        &self.browsers
    }

    /// A channel under the current rules, or why it cannot be opened.
    pub fn get(
        &self,
        rules: &Arc<DaemonRules>,
        name: &str,
    ) -> Result<Arc<OpenChannel>, ChannelError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.rules.as_ref().is_some_and(|known| Arc::ptr_eq(known, rules)) {
            *open = Open { rules: Some(Arc::clone(rules)), channels: HashMap::new() };
        }
        if let Some(open_channel) = open.channels.get(name) {
            return open_channel.clone();
        }
        let open_channel = match rules.channels.get(name) {
            None => Err(ChannelError::permanent("this channel is no longer set up")),
            Some(channel_config) => {
                let open = match &channel_config.settings {
                    ChannelSettings::WebPush(settings) => {
                        let browsers = Arc::clone(&self.browsers);
                        let push = WebPush::new(name, channel_config.limits, settings, browsers);
                        Ok(Arc::new(push) as Arc<dyn Channel>)
                    }
                    settings => settings.open(name, channel_config.limits),
                };
                open.map(|channel| Arc::new(OpenChannel::new(channel, channel_config.limits)))
            }
        };
        open.channels.insert(name.to_owned(), open_channel.clone());
        open_channel
    }
}

impl OpenChannel {
    /// An open channel with its limits.
    pub fn new(channel: Arc<dyn Channel>, limits: ChannelLimits) -> OpenChannel {
        let rate_limit = Mutex::new(RateLimit::new(limits.per_minute));
        let permits = Semaphore::new(MAX_CONCURRENT);
        let (test_buttons, health, last_rejection_log) =
            (TestButtons::default(), Mutex::default(), Mutex::default());
        OpenChannel {
            channel,
            permits,
            limits,
            test_buttons,
            rate_limit,
            health,
            last_rejection_log,
        }
    }

    /// Records the result of an attempt.
    pub fn record_result(&self, error: Option<&ChannelError>, now: Timestamp) {
        let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            None => *health = ChannelHealth { told: Some(now), failed: None },
            Some(error) => health.failed = Some((now, error.problem.clone())),
        }
    }

    /// The health of a channel.
    pub fn health(&self) -> ChannelHealth {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether invalid input may be logged now. This is limited, because anyone who can reach a
    /// hook could otherwise fill the log.
    pub fn should_log_rejection(&self, now: Instant) -> bool {
        let mut last = self.last_rejection_log.lock().unwrap_or_else(PoisonError::into_inner);
        let may = last.is_none_or(|last| now.duration_since(last) >= REJECTION_LOG_INTERVAL);
        if may {
            *last = Some(now);
        }
        may
    }

    /// How long to wait before the next message, if that is short enough.
    pub fn reserve(&self, at_most: Duration) -> Option<Duration> {
        let mut rate_limit = self.rate_limit.lock().unwrap_or_else(PoisonError::into_inner);
        rate_limit.next(Instant::now(), at_most)
    }
}

/// A rate limit per minute with a small burst.
#[derive(Debug)]
struct RateLimit {
    between: Duration,
    ahead: Duration,
    /// When the next message would be due at an even rate.
    even: Option<Instant>,
}

impl RateLimit {
    fn new(per_minute: u32) -> RateLimit {
        let between = Duration::from_mins(1) / per_minute.max(1);
        let together = BURST.min(per_minute.max(1));
        RateLimit { between, ahead: between * (together - 1), even: None }
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
    fn rejected_webhooks_are_logged_once_a_minute() {
        let limits = ChannelSettings::usual("terminal");
        let open_channel =
            OpenChannel::new(ChannelSettings::Terminal.open("terminal", limits).unwrap(), limits);
        let now = Instant::now();
        assert!(open_channel.should_log_rejection(now));
        assert!(
            !open_channel.should_log_rejection(now)
                && !open_channel.should_log_rejection(now + REJECTION_LOG_INTERVAL / 2)
        );
        assert!(open_channel.should_log_rejection(now + REJECTION_LOG_INTERVAL));
    }

    #[test]
    fn a_burst_is_allowed_and_the_rest_is_rate_limited() {
        let (mut rate_limit, now) = (RateLimit::new(60), Instant::now());
        let second = Duration::from_secs(1);
        for _ in 0..BURST {
            assert_eq!(rate_limit.next(now, second * 60), Some(Duration::ZERO));
        }
        assert_eq!(rate_limit.next(now, second * 60), Some(second));
        assert_eq!(rate_limit.next(now, second * 60), Some(second * 2));
        // A message that cannot wait uses no slot.
        assert_eq!(rate_limit.next(now, second * 2), None);
        assert_eq!(rate_limit.next(now, second * 60), Some(second * 3));
        assert_eq!(rate_limit.next(now + second * 3600, second), Some(Duration::ZERO));
    }
}
