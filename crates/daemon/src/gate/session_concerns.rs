//! Signs in the recent messages of a session: several possible ones together are likely, and one
//! calm message does not make them forgotten.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use countersign_crisis::Concern;
use countersign_types::time::{Millis, Timestamp};

/// This many possible messages within [`RAISE_WITHIN`] are likely together.
const RAISE_AT: usize = 3;
/// How long an earlier sign counts for the concern of later messages.
const RAISE_WITHIN: Millis = Millis::from_seconds(30 * 60);
/// How long a session stays at least possible after its last sign.
const REMEMBERED: Millis = Millis::from_seconds(15 * 60);
/// The most sessions that are remembered.
const MAX_SESSIONS: usize = 4_096;

type SignTimes = HashMap<(String, String), Vec<Timestamp>>;

/// The times of recent signs, by agent and session. In memory only.
#[derive(Debug, Default)]
pub struct SessionConcerns {
    signs: Mutex<SignTimes>,
}

impl SessionConcerns {
    /// Notes the concern of a message. Returns the concern together with earlier messages; texts
    /// without a session are not related to each other.
    pub fn note(&self, agent: &str, session: &str, concern: Concern, now: Timestamp) -> Concern {
        if session.is_empty() || concern == Concern::None {
            return concern;
        }
        let mut signs = self.signs.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = |times: &[Timestamp]| times.iter().any(|at| at.until(now) <= RAISE_WITHIN);
        if signs.len() >= MAX_SESSIONS {
            signs.retain(|_, times| recent(times));
        }
        let key = (agent.to_owned(), session.to_owned());
        if signs.len() >= MAX_SESSIONS && !signs.contains_key(&key) {
            return concern;
        }
        let times = signs.entry(key).or_default();
        times.retain(|at| at.until(now) <= RAISE_WITHIN);
        if times.len() < RAISE_AT {
            times.push(now);
        } else if let Some(last) = times.last_mut() {
            *last = now;
        }
        if times.len() >= RAISE_AT { Concern::Likely } else { concern }
    }

    /// The least concern of a session by its recent messages, whatever the newest one says.
    pub fn of_session(&self, agent: &str, session: &str, now: Timestamp) -> Concern {
        let signs = self.signs.lock().unwrap_or_else(PoisonError::into_inner);
        let times = signs.get(&(agent.to_owned(), session.to_owned()));
        let recent = |times: &Vec<Timestamp>| times.iter().any(|at| at.until(now) <= REMEMBERED);
        if times.is_some_and(recent) { Concern::Possible } else { Concern::None }
    }

    /// Forgets a session, because a person resolved its crisis.
    pub fn forget(&self, agent: &str, session: &str) {
        let mut signs = self.signs.lock().unwrap_or_else(PoisonError::into_inner);
        signs.remove(&(agent.to_owned(), session.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(minute: i64) -> Timestamp {
        Timestamp(minute * 60_000)
    }

    #[test]
    fn three_possible_messages_of_a_session_are_likely() {
        let concerns = SessionConcerns::default();
        let note = |session, at| concerns.note("a", session, Concern::Possible, minute(at));
        assert_eq!(note("s", 0), Concern::Possible);
        assert_eq!(note("t", 1), Concern::Possible, "another session");
        assert_eq!(note("s", 10), Concern::Possible);
        assert_eq!(concerns.note("a", "s", Concern::None, minute(11)), Concern::None);
        assert_eq!(note("s", 20), Concern::Likely);
        assert_eq!(note("s", 25), Concern::Likely);
        concerns.forget("a", "s");
        assert_eq!(note("s", 26), Concern::Possible, "a person resolved it");
        for at in 0..10 {
            assert_eq!(note("", at), Concern::Possible, "no session, no relation");
        }
    }

    #[test]
    fn old_signs_do_not_count() {
        let concerns = SessionConcerns::default();
        for at in [0, 40, 80, 120] {
            let concern = concerns.note("a", "s", Concern::Possible, minute(at));
            assert_eq!(concern, Concern::Possible);
        }
    }

    #[test]
    fn a_calm_message_does_not_lower_a_session_for_a_while() {
        let concerns = SessionConcerns::default();
        assert_eq!(concerns.of_session("a", "s", minute(0)), Concern::None);
        concerns.note("a", "s", Concern::Possible, minute(0));
        concerns.note("a", "s", Concern::None, minute(1));
        assert_eq!(concerns.of_session("a", "s", minute(14)), Concern::Possible);
        assert_eq!(concerns.of_session("a", "t", minute(14)), Concern::None);
        assert_eq!(concerns.of_session("a", "s", minute(16)), Concern::None);
    }

    #[test]
    fn the_memory_is_bounded() {
        let concerns = SessionConcerns::default();
        for session in 0..MAX_SESSIONS * 2 {
            concerns.note("a", &session.to_string(), Concern::Possible, minute(0));
        }
        assert_eq!(concerns.signs.lock().unwrap().len(), MAX_SESSIONS);
    }
}
