//! Replay protection: platforms deliver twice, and anyone who saw a post may send it again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use countersign_types::time::{Millis, Timestamp};

/// Longer than any platform's signature is valid, and than a clock may be wrong.
const RETENTION: Millis = Millis::from_seconds(3600);
/// The maximum number of replies of one channel within that time. More are rejected, because a
/// forgotten reply could be replayed.
const MAX_KEYS: usize = 65_536;

/// The replies that were received already.
#[derive(Debug, Default)]
pub struct ReplayGuard {
    channels: Mutex<HashMap<String, Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    known: HashSet<String>,
    in_order: VecDeque<(Timestamp, String)>,
}

impl ReplayGuard {
    /// Whether this reply of a channel is new and may be handled.
    pub fn is_new(&self, channel: &str, key: &str, now: Timestamp) -> bool {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = channels.entry(channel.to_owned()).or_default();
        while let Some((at, _)) = seen.in_order.front()
            && at.plus(RETENTION) <= now
        {
            if let Some((_, key)) = seen.in_order.pop_front() {
                seen.known.remove(&key);
            }
        }
        if seen.known.contains(key) {
            return false;
        }
        if seen.in_order.len() >= MAX_KEYS {
            tracing::error!(channel, "too many replies within an hour: this one is rejected");
            return false;
        }
        seen.in_order.push_back((now, key.to_owned()));
        seen.known.insert(key.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_accepted_once_and_a_flood_forgets_nothing() {
        let (guard, now) = (ReplayGuard::default(), Timestamp(1_000_000));
        assert!(guard.is_new("slack", "1", now));
        assert!(!guard.is_new("slack", "1", now));
        assert!(guard.is_new("discord", "1", now));
        for number in 2..=MAX_KEYS {
            assert!(guard.is_new("slack", &number.to_string(), now));
        }
        assert!(!guard.is_new("slack", "one more", now), "full: nothing more is heard");
        assert!(!guard.is_new("slack", "1", now), "and nothing is forgotten");
        assert!(guard.is_new("discord", "2", now), "a noisy channel deafens no other");
        let later = now.plus(RETENTION);
        assert!(guard.is_new("slack", "one more", later));
    }
}
