//! What was heard already. Platforms deliver twice, and whoever saw a word may send it again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use countersign_types::time::{Span, Timestamp};

/// Longer than any platform's signature is good for, and than a clock may be off.
const REMEMBERED: Span = Span::seconds(3600);
/// So many words of one channel within that time; then nothing more is heard through it, for who
/// forgets can be fooled.
const MOST: usize = 65_536;

/// Words that were heard already.
#[derive(Debug, Default)]
pub struct Heard {
    channels: Mutex<HashMap<String, Words>>,
}

#[derive(Debug, Default)]
struct Words {
    known: HashSet<String>,
    in_order: VecDeque<(Timestamp, String)>,
}

impl Heard {
    /// Whether this word of a channel is new and may be listened to.
    pub fn is_new(&self, channel: &str, key: &str, now: Timestamp) -> bool {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let words = channels.entry(channel.to_owned()).or_default();
        while let Some((at, _)) = words.in_order.front()
            && at.plus(REMEMBERED) <= now
        {
            if let Some((_, word)) = words.in_order.pop_front() {
                words.known.remove(&word);
            }
        }
        if words.known.contains(key) {
            return false;
        }
        if words.in_order.len() >= MOST {
            tracing::error!(channel, "too many words within an hour: this one is not heard");
            return false;
        }
        words.in_order.push_back((now, key.to_owned()));
        words.known.insert(key.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_heard_once_and_no_flood_makes_it_new_again() {
        let (heard, now) = (Heard::default(), Timestamp(1_000_000));
        assert!(heard.is_new("slack", "1", now));
        assert!(!heard.is_new("slack", "1", now));
        assert!(heard.is_new("discord", "1", now));
        for number in 2..=MOST {
            assert!(heard.is_new("slack", &number.to_string(), now));
        }
        assert!(!heard.is_new("slack", "one more", now), "full: nothing more is heard");
        assert!(!heard.is_new("slack", "1", now), "and nothing is forgotten");
        assert!(heard.is_new("discord", "2", now), "a noisy channel deafens no other");
        let later = now.plus(REMEMBERED);
        assert!(heard.is_new("slack", "one more", later));
    }
}
