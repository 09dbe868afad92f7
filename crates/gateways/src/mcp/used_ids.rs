//! Call ids of calls that ran, so that none of them runs a second time by the same approval.

use std::collections::{HashSet, VecDeque};

use sha2::{Digest as _, Sha256};

/// How many are remembered: twice as many as the daemon remembers. A call id that both have
/// forgotten leads to a new question.
const MAX_IDS: usize = 20_000;

/// The newest call ids, each as a digest: a client may write long ones.
#[derive(Debug, Default)]
pub struct UsedIds {
    known: HashSet<[u8; 32]>,
    oldest_first: VecDeque<[u8; 32]>,
}

impl UsedIds {
    /// Remembers a call id. Whether it is new.
    pub fn insert(&mut self, call_id: &str) -> bool {
        let digest: [u8; 32] = Sha256::digest(call_id.as_bytes()).into();
        if !self.known.insert(digest) {
            return false;
        }
        self.oldest_first.push_back(digest);
        if self.oldest_first.len() > MAX_IDS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_new_once_and_the_oldest_are_forgotten() {
        let mut ids = UsedIds::default();
        assert!(ids.insert("toolu_1"));
        assert!(!ids.insert("toolu_1"));
        for number in 0..MAX_IDS - 1 {
            assert!(ids.insert(&number.to_string()));
        }
        assert!(!ids.insert("toolu_1"));
        assert!(ids.insert("one more"));
        assert_eq!((ids.known.len(), ids.oldest_first.len()), (MAX_IDS, MAX_IDS));
        assert!(ids.insert("toolu_1"), "the oldest is forgotten");
    }
}
