//! Verdicts on the same question, kept for a short time.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use countersign_json::canonical::Digest;
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

/// The newest verdicts. Only replies of the exact form are kept.
#[derive(Debug, Clone, Default)]
pub struct VerdictCache {
    known: HashMap<CacheKey, (JudgeReply, Timestamp)>,
    order: VecDeque<CacheKey>,
}

impl VerdictCache {
    /// The verdict, if one is kept.
    pub fn get(&self, key: &CacheKey, now: Timestamp) -> Option<JudgeReply> {
        let (reply, at) = self.known.get(key)?;
        (now >= *at && now < at.plus(KEPT_FOR)).then_some(*reply)
    }

    /// Keeps a verdict.
    pub fn keep(&mut self, key: CacheKey, reply: JudgeReply, now: Timestamp) {
        if self.known.insert(key, (reply, now)).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > MAX_ENTRIES
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Forgets everything, after the model failed a test.
    pub fn clear(&mut self) {
        self.known.clear();
        self.order.clear();
    }
}
