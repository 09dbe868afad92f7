//! The sessions whose questions were announced as one, until these are answered.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use countersign_types::id::Id;

/// How many sessions with a digest are remembered.
const MAX_SESSIONS: usize = 1_024;

/// The sessions whose questions were announced as one.
#[derive(Debug, Default)]
pub struct ToldBursts {
    /// The questions of each digest, by agent and session.
    told: Mutex<HashMap<(String, String), HashSet<Id>>>,
}

/// What happens to an announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BurstStep {
    /// It is sent on its own.
    Alone,
    /// A digest with it is sent.
    Digest,
    /// A digest was sent and is not answered yet: nothing is sent.
    Told,
}

impl ToldBursts {
    /// What happens to a question of this session, with all that are pending in it.
    pub fn step(&self, key: (&str, &str), pending: &HashSet<Id>, is_burst: bool) -> BurstStep {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (key.0.to_owned(), key.1.to_owned());
        match told.get(&key) {
            Some(known) if known.iter().any(|id| pending.contains(id)) => return BurstStep::Told,
            Some(_) => {
                told.remove(&key);
            }
            None => {}
        }
        // Without room, everything is announced on its own.
        if !is_burst || told.len() >= MAX_SESSIONS {
            return BurstStep::Alone;
        }
        told.insert(key, pending.clone());
        BurstStep::Digest
    }

    /// Forgets a digest that was not sent.
    pub fn forget(&self, (agent, session): (&str, &str)) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.remove(&(agent.to_owned(), session.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_digest_is_sent_until_its_questions_are_answered() {
        let told = ToldBursts::default();
        let ids = |bytes: &[u8]| -> HashSet<Id> {
            bytes.iter().map(|byte| Id::from_bytes([*byte; 16])).collect()
        };
        let key = ("coder", "s1");
        assert_eq!(told.step(key, &ids(&[1]), false), BurstStep::Alone);
        assert_eq!(told.step(key, &ids(&[1, 2, 3, 4]), true), BurstStep::Digest);
        assert_eq!(told.step(key, &ids(&[4, 5]), false), BurstStep::Told);
        assert_eq!(told.step(("coder", "s2"), &ids(&[7]), false), BurstStep::Alone);
        // All questions of the digest are answered.
        assert_eq!(told.step(key, &ids(&[5, 6]), false), BurstStep::Alone);
        assert_eq!(told.step(key, &ids(&[5, 6, 7, 8]), true), BurstStep::Digest);
        told.forget(key);
        assert_eq!(told.step(key, &ids(&[5, 6]), false), BurstStep::Alone);
    }
}
