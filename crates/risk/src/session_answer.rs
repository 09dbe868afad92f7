//! Answers for the rest of a session: a person who approved a call so is not asked about the same
//! again in this session.
//!
//! An answer covers exactly the same call, and every call that asks only about what was answered:
//! the same command with the same words in the same folder, whatever stands around it. It never
//! covers what is CRITICAL, what is sent to people, money, the agent's own settings, or anything
//! that touches the crisis rules.

use crate::assessment::Assessment;
use crate::effect::{Effect, Effects};
use crate::finding::Factor;
use crate::question::Topic;
use crate::session::SessionMemory;
use crate::verdict::Verdict;
use countersign_json::canonical::{CallDigest, Digest};
use countersign_types::tier::Tier;

/// Effects that a person is asked about every time.
const EVERY_TIME: Effects =
    Effects::of(&[Effect::Send, Effect::Money, Effect::SelfChange, Effect::Crisis]);

/// Whether a person may answer this call for the rest of its session.
pub fn may_cover(seen: &Assessment) -> bool {
    seen.verdict == Verdict::Ask
        && seen.tier <= Tier::High
        && !seen.crisis_sensitive
        && !seen.effects.meets(EVERY_TIME)
}

impl SessionMemory {
    /// Lets a call pass that a person answered for the rest of the session; whether it was so.
    pub fn apply_answers(&self, seen: &mut Assessment, call: &CallDigest) -> bool {
        let covered = self.covers(seen, call);
        if covered {
            seen.verdict = Verdict::Allow;
            seen.requires_human = false;
        }
        covered
    }

    /// Whether a person answered this call, or all that it asks about, for the rest of the session.
    fn covers(&self, seen: &Assessment, call: &CallDigest) -> bool {
        if !may_cover(seen) {
            return false;
        }
        let known = |key: &Digest| self.is_answered(key);
        known(&whole(seen, call))
            || parts(seen).is_some_and(|topics| topics.iter().all(|topic| topic.is_known(known)))
    }

    /// Remembers that a person answered this call for the rest of the session.
    pub fn answer(&mut self, seen: &Assessment, call: &CallDigest) {
        if !may_cover(seen) {
            return;
        }
        self.note_answer(&whole(seen, call));
        for topic in parts(seen).into_iter().flatten() {
            self.note_answer(topic.key());
        }
    }
}

fn whole(seen: &Assessment, call: &CallDigest) -> Digest {
    let raw = call.both_bind.then(|| call.raw.as_bytes().as_slice()).unwrap_or_default();
    seen.trace.call_key(&Digest::of(&[call.canonical.as_bytes(), raw].concat()))
}

/// What is asked about, where nothing else makes the call as risky as it is.
fn parts(seen: &Assessment) -> Option<&[Topic]> {
    let patterns = seen.reasons.iter().filter(|reason| reason.factor == Factor::Pattern);
    let heaviest = patterns.map(|reason| reason.weight.tier()).max();
    seen.trace.question().topics().filter(|_| heaviest == Some(seen.tier))
}
