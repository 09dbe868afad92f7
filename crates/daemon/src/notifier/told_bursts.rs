//! The sessions whose questions were announced as one, until these are answered.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_types::id::Id;
use tokio::sync::watch;

/// How many sessions with a digest are remembered; the oldest ones make room.
const MAX_SESSIONS: usize = 1_024;

/// The sessions whose questions were announced as one.
#[derive(Debug, Default)]
pub struct ToldBursts {
    told: Mutex<ToldSessions>,
}

/// The digest of each agent and session.
#[derive(Debug, Default)]
struct ToldSessions {
    digests: HashMap<BurstKey, ToldDigest>,
    /// The number of the next digest.
    next: u64,
}

type BurstKey = (String, String);

#[derive(Debug)]
struct ToldDigest {
    number: u64,
    /// Its questions; none while it is being sent.
    questions: Option<HashSet<Id>>,
    /// Becomes true when a channel took it, and closes when it was not sent.
    sent: watch::Receiver<bool>,
}

/// What happens to an announcement.
#[derive(Debug)]
pub enum BurstStep<'t> {
    /// It is sent on its own.
    Alone,
    /// A digest with it is sent.
    Digest(UnsentDigest<'t>),
    /// A digest is being sent, which may fail.
    Wait(watch::Receiver<bool>),
    /// A digest was sent and is not answered yet: nothing is sent.
    Told,
}

/// A digest that is being sent. If it is dropped before it was sent, its session is forgotten.
#[derive(Debug)]
pub struct UnsentDigest<'t> {
    bursts: &'t ToldBursts,
    key: BurstKey,
    number: u64,
    questions: HashSet<Id>,
    sent: watch::Sender<bool>,
}

impl UnsentDigest<'_> {
    /// A channel took the digest.
    pub fn sent(mut self) {
        let questions = std::mem::take(&mut self.questions);
        let mut told = self.bursts.lock();
        let own = told.digests.get_mut(&self.key).filter(|digest| digest.number == self.number);
        if let Some(digest) = own {
            digest.questions = Some(questions);
        }
        drop(told);
        self.sent.send_replace(true);
    }
}

impl Drop for UnsentDigest<'_> {
    fn drop(&mut self) {
        let mut told = self.bursts.lock();
        let is_unsent =
            |digest: &ToldDigest| digest.number == self.number && digest.questions.is_none();
        if told.digests.get(&self.key).is_some_and(is_unsent) {
            told.digests.remove(&self.key);
        }
    }
}

impl ToldBursts {
    /// What happens to a question of this session, with all that are pending in it.
    pub fn step(&self, key: (&str, &str), pending: &HashSet<Id>, is_burst: bool) -> BurstStep<'_> {
        let mut told = self.lock();
        let key = (key.0.to_owned(), key.1.to_owned());
        match told.digests.get(&key).map(|digest| (&digest.questions, &digest.sent)) {
            Some((None, sent)) => return BurstStep::Wait(sent.clone()),
            Some((Some(known), _)) if !known.is_disjoint(pending) => return BurstStep::Told,
            Some(_) => {
                told.digests.remove(&key);
            }
            None => {}
        }
        if !is_burst || !told.make_room() {
            return BurstStep::Alone;
        }
        let (sent, receiver) = watch::channel(false);
        let number = told.next;
        told.next = number.wrapping_add(1);
        told.digests.insert(key.clone(), ToldDigest { number, questions: None, sent: receiver });
        BurstStep::Digest(UnsentDigest {
            bursts: self,
            key,
            number,
            questions: pending.clone(),
            sent,
        })
    }

    fn lock(&self) -> MutexGuard<'_, ToldSessions> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToldSessions {
    /// Forgets the oldest digest if there are too many. False if all are being sent.
    fn make_room(&mut self) -> bool {
        if self.digests.len() < MAX_SESSIONS {
            return true;
        }
        let sent = self.digests.iter().filter(|(_, digest)| digest.questions.is_some());
        let oldest = sent.min_by_key(|(_, digest)| digest.number).map(|(key, _)| key.clone());
        oldest.is_some_and(|key| self.digests.remove(&key).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(bytes: &[u8]) -> HashSet<Id> {
        bytes.iter().map(|byte| Id::from_bytes([*byte; 16])).collect()
    }

    fn digest(step: BurstStep<'_>) -> UnsentDigest<'_> {
        match step {
            BurstStep::Digest(digest) => digest,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_digest_is_sent_until_its_questions_are_answered() {
        let told = ToldBursts::default();
        let key = ("coder", "s1");
        let is_alone = |step: BurstStep<'_>| matches!(step, BurstStep::Alone);
        assert!(is_alone(told.step(key, &ids(&[1]), false)));
        digest(told.step(key, &ids(&[1, 2, 3, 4]), true)).sent();
        assert!(matches!(told.step(key, &ids(&[4, 5]), false), BurstStep::Told));
        assert!(is_alone(told.step(("coder", "s2"), &ids(&[7]), false)));
        // All questions of the digest are answered.
        assert!(is_alone(told.step(key, &ids(&[5, 6]), false)));
        digest(told.step(key, &ids(&[5, 6, 7, 8]), true)).sent();
        assert!(matches!(told.step(key, &ids(&[8]), false), BurstStep::Told));
    }

    #[tokio::test]
    async fn a_question_is_not_told_by_a_digest_that_fails() {
        let told = ToldBursts::default();
        let (key, all) = (("coder", "s1"), ids(&[1, 2, 3, 4]));
        let wait = |step: BurstStep<'_>| match step {
            BurstStep::Wait(sent) => sent,
            other => panic!("{other:?}"),
        };
        let first = digest(told.step(key, &all, true));
        let mut waits = wait(told.step(key, &ids(&[4, 5]), true));
        drop(first);
        assert!(waits.wait_for(|sent| *sent).await.is_err(), "it was not sent");
        let second = digest(told.step(key, &all, true));
        let mut waits = wait(told.step(key, &all, true));
        second.sent();
        assert!(waits.wait_for(|sent| *sent).await.is_ok());
        assert!(matches!(told.step(key, &all, true), BurstStep::Told));
    }

    #[test]
    fn old_sessions_make_room() {
        let (told, all) = (ToldBursts::default(), ids(&[1]));
        for number in 0..=MAX_SESSIONS {
            digest(told.step(("coder", &number.to_string()), &all, true)).sent();
        }
        assert_eq!(told.lock().digests.len(), MAX_SESSIONS);
        assert!(matches!(told.step(("coder", "1"), &all, true), BurstStep::Told));
        drop(digest(told.step(("coder", "0"), &all, true)));
    }
}
