//! Verdicts on the same question, kept for a short time.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use countersign_json::canonical::Digest;
use countersign_types::id::Id;
use countersign_types::time::{Millis, Timestamp};

use crate::reply::JudgeReply;
use crate::subject::JudgeSubject;
use crate::user_words::UserWords;

/// The most verdicts that are kept.
const MAX_ENTRIES: usize = 1_000;
/// For how long.
const KEPT_FOR: Millis = Millis(10 * 60_000);

/// What a verdict depends on: the call, the policy text and the model, and what else was in the
/// question about the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey(Digest);

impl CacheKey {
    /// The key of a question.
    pub fn new(subject: &JudgeSubject, policy: &str, model: &str, words: &[UserWords]) -> CacheKey {
        let mut text = format!(
            "countersign/judge/1\0{}\0{}\0{}\0{}\0",
            subject.digest,
            subject.raw_digest,
            Digest::of(policy.as_bytes()),
            Digest::of(model.as_bytes()),
        );
        // Facts, words and the assessment can change while the call stays the same.
        let _ = write!(text, "{}\0{:?}\0", subject.points.0, subject.platform);
        let _ = write!(text, "{:?}\0{:?}\0{words:?}", subject.facts, subject.reasons);
        CacheKey(Digest::of(text.as_bytes()))
    }
}

/// A kept verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedVerdict {
    /// What the model said.
    pub reply: JudgeReply,
    /// When.
    pub at: Timestamp,
    /// The request for which the model was asked, once that request is stored.
    pub request: Option<Id>,
}

/// The newest verdicts. Only replies of the exact form are kept.
#[derive(Debug, Clone, Default)]
pub struct VerdictCache {
    known: HashMap<CacheKey, CachedVerdict>,
    order: VecDeque<CacheKey>,
}

impl VerdictCache {
    /// The verdict, if one is kept.
    pub fn get(&self, key: &CacheKey, now: Timestamp) -> Option<CachedVerdict> {
        let found = self.known.get(key).copied()?;
        (now >= found.at && now < found.at.plus(KEPT_FOR)).then_some(found)
    }

    /// Keeps a verdict.
    pub fn keep(&mut self, key: CacheKey, reply: JudgeReply, now: Timestamp) {
        let kept = CachedVerdict { reply, at: now, request: None };
        if self.known.insert(key, kept).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > MAX_ENTRIES
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Notes the request for which the model was asked; the first one stays.
    pub fn note_request(&mut self, key: &CacheKey, request: Id) {
        if let Some(kept) = self.known.get_mut(key) {
            kept.request.get_or_insert(request);
        }
    }

    /// Forgets everything, after the model failed a test.
    pub fn clear(&mut self) {
        self.known.clear();
        self.order.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{JudgeConcern, ModelVerdict};
    use crate::user_words::WordSource;
    use countersign_risk::context::{Environment, Platform};
    use countersign_types::tier::{Points, Tier};

    const ALLOW: JudgeReply =
        JudgeReply { verdict: ModelVerdict::Allow, concern: JudgeConcern::None };

    fn subject() -> JudgeSubject {
        JudgeSubject {
            digest: Digest::of(b"call"),
            raw_digest: Digest::of(b"raw"),
            tool: "shell".to_owned(),
            arguments: "{}".to_owned(),
            cwd: None,
            environment: Environment::Workstation,
            platform: Platform::Cli,
            tier: Tier::Low,
            points: Points(150),
            effects: Vec::new(),
            reversible: true,
            reasons: vec!["It writes a file.".to_owned()],
            doubts: Vec::new(),
            facts: Vec::new(),
            limit: None,
        }
    }

    fn key(subject: &JudgeSubject) -> CacheKey {
        CacheKey::new(subject, "policy", "model", &[])
    }

    #[test]
    fn every_part_of_the_question_is_in_the_key() {
        let same = key(&subject());
        assert_eq!(same, key(&subject()));
        let changed: [fn(&mut JudgeSubject); 6] = [
            |it| it.digest = Digest::of(b"another call"),
            |it| it.raw_digest = Digest::of(b"other bytes"),
            |it| it.points = Points(151),
            |it| it.platform = Platform::Api,
            |it| it.facts = vec!["The file is tracked by git.".to_owned()],
            |it| it.reasons.clear(),
        ];
        for (number, change) in changed.into_iter().enumerate() {
            let mut other = subject();
            change(&mut other);
            assert_ne!(key(&other), same, "part {number}");
        }
        assert_ne!(CacheKey::new(&subject(), "other policy", "model", &[]), same);
        assert_ne!(CacheKey::new(&subject(), "policy", "other model", &[]), same);
        let words = UserWords::new(WordSource::Gateway, "delete it").unwrap();
        assert_ne!(CacheKey::new(&subject(), "policy", "model", &[words]), same);
        // One part cannot pass for another one.
        let joined = CacheKey::new(&subject(), "policy\0model", "", &[]);
        assert_ne!(joined, CacheKey::new(&subject(), "policy", "model", &[]));
    }

    #[test]
    fn a_verdict_is_kept_for_ten_minutes() {
        let (mut cache, key) = (VerdictCache::default(), key(&subject()));
        let at = |minutes: i64| Timestamp(1_000_000 + minutes * 60_000);
        assert_eq!(cache.get(&key, at(0)), None);
        cache.keep(key, ALLOW, at(0));
        assert_eq!(cache.get(&key, at(9)).map(|kept| kept.reply), Some(ALLOW));
        assert_eq!(cache.get(&key, at(10)), None, "expired");
        assert_eq!(cache.get(&key, at(-1)), None, "the clock went back");
        cache.keep(key, ALLOW, at(20));
        assert!(cache.get(&key, at(29)).is_some());
        cache.clear();
        assert_eq!(cache.get(&key, at(20)), None);
    }

    #[test]
    fn a_kept_verdict_names_the_request_it_came_from() {
        let (mut cache, key) = (VerdictCache::default(), key(&subject()));
        let ids = [1, 2].map(|byte| Id::from_bytes([byte; 16]));
        cache.note_request(&key, ids[0]);
        cache.keep(key, ALLOW, Timestamp(0));
        assert_eq!(cache.get(&key, Timestamp(1)).unwrap().request, None);
        cache.note_request(&key, ids[0]);
        cache.note_request(&key, ids[1]);
        assert_eq!(cache.get(&key, Timestamp(1)).unwrap().request, Some(ids[0]));
        cache.keep(key, ALLOW, Timestamp(2));
        assert_eq!(cache.get(&key, Timestamp(3)).unwrap().request, None, "asked again");
    }

    #[test]
    fn the_oldest_verdict_makes_room() {
        let mut cache = VerdictCache::default();
        let keys: Vec<CacheKey> = (0..=MAX_ENTRIES)
            .map(|number| CacheKey::new(&subject(), &number.to_string(), "model", &[]))
            .collect();
        for key in &keys {
            cache.keep(*key, ALLOW, Timestamp(0));
        }
        assert_eq!(cache.get(&keys[0], Timestamp(1)), None);
        assert!(cache.get(&keys[1], Timestamp(1)).is_some());
        assert_eq!(cache.known.len(), MAX_ENTRIES);
    }
}
