//! Signs in the recent messages of a session: several possible ones together are likely, and one
//! calm message does not make them forgotten.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use countersign_crisis::{Concern, may_be_minor};
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
    /// Sessions that are in a crisis since their last answer, and have not seen the whole card.
    owed: Mutex<HashSet<(String, String)>>,
    /// Sessions whose user may be under 18.
    minors: Mutex<HashSet<(String, String)>>,
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

    /// Whether the user of a session may be under 18, by this message or an earlier one.
    pub fn note_age(&self, agent: &str, session: &str, text: &str) -> bool {
        let is_sign = may_be_minor(text);
        if session.is_empty() {
            return is_sign;
        }
        let mut minors = self.minors.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (agent.to_owned(), session.to_owned());
        if is_sign && minors.len() < MAX_SESSIONS {
            minors.insert(key.clone());
        }
        is_sign || minors.contains(&key)
    }

    /// Shows the whole card with the next answer to this session.
    pub fn owe_card(&self, agent: &str, session: &str) {
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        if owed.len() < MAX_SESSIONS {
            owed.insert((agent.to_owned(), session.to_owned()));
        }
    }

    /// Whether the session has not seen the whole card yet; asked once.
    pub fn take_owed_card(&self, agent: &str, session: &str) -> bool {
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        !owed.is_empty() && owed.remove(&(agent.to_owned(), session.to_owned()))
    }

    /// Forgets a session, because a person resolved its crisis.
    pub fn forget(&self, agent: &str, session: &str) {
        self.take_owed_card(agent, session);
        let mut minors = self.minors.lock().unwrap_or_else(PoisonError::into_inner);
        minors.remove(&(agent.to_owned(), session.to_owned()));
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
