//! What users wrote last in a session, for the model judge: in memory, without secrets, and only
//! while a judge is configured. What the judge was asked is in its exchange log.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use countersign_judge::{MAX_WORDS, UserWords, WordSource};
use countersign_types::time::{Millis, Timestamp};

/// The most sessions that are remembered.
const MAX_SESSIONS: usize = 1_024;
/// How long a message says what the user wants.
const REMEMBERED: Millis = Millis::from_seconds(4 * 60 * 60);

type Sessions = HashMap<(String, String), VecDeque<(Timestamp, UserWords)>>;

/// The newest messages, by agent and session.
#[derive(Debug, Default)]
pub struct SessionWords {
    sessions: Mutex<Sessions>,
}

impl SessionWords {
    /// Remembers a message that the agent's hook passed on, without secrets and cut.
    pub fn add(&self, agent: &str, session: &str, text: &str, now: Timestamp) {
        if session.is_empty() {
            return;
        }
        let Some(words) = UserWords::new(WordSource::Gateway, text) else { return };
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= MAX_SESSIONS {
            sessions.retain(|_, all| all.back().is_some_and(|(at, _)| is_recent(*at, now)));
        }
        let key = (agent.to_owned(), session.to_owned());
        if sessions.len() >= MAX_SESSIONS && !sessions.contains_key(&key) {
            return;
        }
        let all = sessions.entry(key).or_default();
        if all.len() >= MAX_WORDS {
            all.pop_front();
        }
        all.push_back((now, words));
    }

    /// The recent messages of a session, newest first.
    pub fn of_session(&self, agent: &str, session: &str, now: Timestamp) -> Vec<UserWords> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let all = sessions.get(&(agent.to_owned(), session.to_owned()));
        let recent = all.into_iter().flatten().rev().filter(|(at, _)| is_recent(*at, now));
        recent.map(|(_, words)| words.clone()).collect()
    }

    /// Forgets a session: its user may be in crisis, which is no matter for the judge.
    pub fn forget(&self, agent: &str, session: &str) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(&(agent.to_owned(), session.to_owned()));
    }
}

fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    at.until(now) <= REMEMBERED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(hour: i64) -> Timestamp {
        Timestamp(hour * 3_600_000)
    }

    fn words(text: &str) -> UserWords {
        UserWords::new(WordSource::Gateway, text).unwrap()
    }

    #[test]
    fn the_newest_messages_of_a_session_are_known() {
        let all = SessionWords::default();
        for number in 0..9 {
            all.add("a", "s", &format!("message {number}"), hour(0));
        }
        all.add("a", "", "no session", hour(0));
        all.add("a", "t", "another session", hour(0));
        let known = all.of_session("a", "s", hour(1));
        assert_eq!(known.len(), MAX_WORDS);
        assert_eq!(known.first(), Some(&words("message 8")));
        assert_eq!(all.of_session("a", "", hour(1)), []);
        assert_eq!(all.of_session("b", "s", hour(1)), [], "another agent");
        assert_eq!(all.of_session("a", "s", hour(5)), [], "too old");
        all.forget("a", "s");
        assert_eq!(all.of_session("a", "s", hour(1)), []);
    }

    #[test]
    fn secrets_are_not_remembered() {
        let all = SessionWords::default();
        let token = ["ghp_", "abcdefghijklmnopqrstuvwxyz0123456789"].concat();
        all.add("a", "s", &format!("push with {token}"), hour(0));
        assert!(!format!("{:?}", all.of_session("a", "s", hour(0))).contains(&token));
    }

    #[test]
    fn the_memory_is_bounded() {
        let all = SessionWords::default();
        for session in 0..MAX_SESSIONS * 2 {
            all.add("a", &session.to_string(), "text", hour(0));
        }
        assert_eq!(all.sessions.lock().unwrap().len(), MAX_SESSIONS);
        all.add("a", "later", "text", hour(9));
        assert_eq!(all.of_session("a", "later", hour(9)).len(), 1, "old sessions made room");
    }
}
