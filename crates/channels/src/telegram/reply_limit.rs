//! The rate limit of replies outside our own chat: strangers must not use up the bot's own limit.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The most replies per minute, in total and per chat.
const MAX_REPLIES: usize = 30;
const MAX_REPLIES_PER_CHAT: usize = 10;
const MINUTE: Duration = Duration::from_mins(1);

/// The replies of the last minute.
#[derive(Debug, Default)]
pub(super) struct ReplyLimit(Mutex<VecDeque<(Instant, i64)>>);

impl ReplyLimit {
    /// Whether a reply in this chat is allowed; it is counted then.
    pub(super) fn allows(&self, chat: i64, now: Instant) -> bool {
        let mut replied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        replied.retain(|(at, _)| now.duration_since(*at) < MINUTE);
        let here = replied.iter().filter(|(_, known)| *known == chat).count();
        let room = here < MAX_REPLIES_PER_CHAT && replied.len() < MAX_REPLIES;
        if room {
            replied.push_back((now, chat));
        }
        room
    }
}
