//! Answers for the rest of a session: a person who approved a call so is not asked about the same
//! again in this session.
//!
//! An answer covers exactly the same call, and every call that asks only about what was answered:
//! the same command with the same words in the same folder, whatever stands around it. It never
//! covers what is CRITICAL, what is sent to people, money, the agent's own settings, or anything
//! that touches the crisis rules, and never a call that is riskier than the one that was answered.

use serde::{Deserialize, Serialize};

use crate::assessment::Assessment;
use crate::effect::{Effect, Effects};
use crate::finding::Factor;
use crate::question::Topic;
use crate::segments::AssessedPart;
use crate::session::SessionMemory;
use crate::verdict::Verdict;
use countersign_json::canonical::{CallDigest, Digest};
use countersign_types::tier::Tier;

/// Effects that a person is asked about every time.
const EVERY_TIME: Effects =
    Effects::of(&[Effect::Send, Effect::Money, Effect::SelfChange, Effect::Crisis]);

/// What a call asks about, as it is stored with its request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionQuestion {
    /// The keys that an answer for the rest of the session notes; empty if none can be given.
    pub answers: Vec<Digest>,
    /// The keys of all answers that could cover a part of the call. A denial ends these answers.
    pub covered_by: Vec<Digest>,
    /// The same for an answer that counts for the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RepositoryQuestion>,
    /// The parts of a compound command, in its order; a person may approve some of them alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartQuestion>,
}

/// What a part of a compound command asks about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartQuestion {
    /// The key of the part standing alone.
    pub key: Digest,
    /// The label of its tier.
    pub tier: String,
    /// Whether a person is asked about it.
    pub asks: bool,
    /// The keys that an answer for the rest of the session notes; empty if none can be given.
    pub answers: Vec<Digest>,
}

impl PartQuestion {
    /// What this part asks about.
    pub fn new(part: &AssessedPart) -> PartQuestion {
        let topics = parts(&part.seen).filter(|_| may_cover(&part.seen));
        PartQuestion {
            key: part.key,
            tier: part.seen.tier.label().to_owned(),
            asks: part.seen.verdict != Verdict::Allow,
            answers: topics.into_iter().flatten().map(|topic| *topic.key()).collect(),
        }
    }

    /// Its tier; CRITICAL if it cannot be read.
    pub fn tier(&self) -> Tier {
        Tier::parse(&self.tier).unwrap_or(Tier::Critical)
    }
}

/// What a call asks about, for an answer that counts for the repository it runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryQuestion {
    /// The repository's folder, as its observer found it.
    pub folder: String,
    /// The keys that an answer for the repository notes; empty if none can be given.
    pub answers: Vec<Digest>,
}

impl SessionQuestion {
    /// What this call asks about.
    pub fn new(seen: &Assessment, call: &CallDigest) -> SessionQuestion {
        let topics = seen.trace.question().all_topics().iter().flat_map(Topic::keys).copied();
        let calls = Tier::ALL.into_iter().map(|tier| call_key(seen, call, tier));
        SessionQuestion {
            answers: answer_keys(seen, call),
            covered_by: calls.chain(topics).collect(),
            repository: None,
            parts: Vec::new(),
        }
    }

    /// The same with the parts of the call, and with the key of the call itself as a part: a denial
    /// ends approvals of each of them.
    #[must_use]
    pub fn with_parts(mut self, own: Option<Digest>, found: &[AssessedPart]) -> SessionQuestion {
        self.covered_by.extend(own);
        self.covered_by.extend(found.iter().map(|part| part.key));
        self.parts = found.iter().map(PartQuestion::new).collect();
        self
    }

    /// The same for a call that runs in this repository.
    #[must_use]
    pub fn in_repository(self, seen: &Assessment, folder: String) -> SessionQuestion {
        let answers = repository_keys(seen);
        SessionQuestion { repository: Some(RepositoryQuestion { folder, answers }), ..self }
    }

    /// The repository for which a person may answer the call; none if the answer can only count
    /// for less.
    pub fn answerable_repository(&self) -> Option<&str> {
        let found = self.repository.as_ref().filter(|_| self.is_answerable());
        found.filter(|found| !found.answers.is_empty()).map(|found| found.folder.as_str())
    }

    /// Whether a person may answer the call for the rest of the session.
    pub fn is_answerable(&self) -> bool {
        !self.answers.is_empty()
    }
}

/// The keys that an answer for the rest of the session notes.
fn answer_keys(seen: &Assessment, call: &CallDigest) -> Vec<Digest> {
    if !may_cover(seen) {
        return Vec::new();
    }
    let topics = parts(seen).into_iter().flatten().map(|topic| *topic.key());
    std::iter::once(call_key(seen, call, seen.tier)).chain(topics).collect()
}

/// The keys that an answer for the repository notes: of calls that ask only about programs, and
/// that run nothing which could be another text the next time.
fn repository_keys(seen: &Assessment) -> Vec<Digest> {
    let may = may_cover(seen) && seen.tier == Tier::Medium && !seen.trace.runs_scripts();
    let topics = parts(seen).filter(|topics| may && topics.iter().all(Topic::is_first_of_kind));
    topics.into_iter().flatten().map(|topic| *topic.key()).collect()
}

/// Whether a person may answer this call for the rest of its session.
pub fn may_cover(seen: &Assessment) -> bool {
    seen.verdict == Verdict::Ask
        && seen.tier <= Tier::High
        && !seen.crisis_sensitive
        && !seen.effects.meets(EVERY_TIME)
}

/// Whether answers with the known keys cover this call, or all that it asks about.
pub fn is_covered(
    seen: &Assessment,
    call: &CallDigest,
    mut known: impl FnMut(&Digest) -> bool,
) -> bool {
    if !may_cover(seen) {
        return false;
    }
    let tiers = Tier::ALL.into_iter().filter(|tier| (seen.tier..=Tier::High).contains(tier));
    let mut keys = tiers.map(|tier| call_key(seen, call, tier));
    keys.any(|key| known(&key))
        || parts(seen).is_some_and(|topics| topics.iter().all(|topic| topic.is_known(&mut known)))
}

impl SessionMemory {
    /// Lets a call pass that a person answered for the rest of the session; whether it was so.
    pub fn apply_answers(&self, seen: &mut Assessment, call: &CallDigest) -> bool {
        let covered = is_covered(seen, call, |key| self.is_answered(key));
        if covered {
            seen.verdict = Verdict::Allow;
            seen.requires_human = false;
        }
        covered
    }

    /// Remembers that a person answered this call for the rest of the session.
    pub fn answer(&mut self, seen: &Assessment, call: &CallDigest) {
        for key in answer_keys(seen, call) {
            self.note_answer(&key);
        }
    }
}

/// The key of exactly this call at a tier: the same call may be riskier later.
fn call_key(seen: &Assessment, call: &CallDigest, tier: Tier) -> Digest {
    let raw: &[u8] = if call.both_bind { call.raw.as_bytes() } else { &[] };
    let tier = tier.label().as_bytes();
    seen.trace.call_key(&Digest::of(&[call.canonical.as_bytes(), raw, tier].concat()))
}

/// What is asked about, where nothing else makes the call as risky as it is.
fn parts(seen: &Assessment) -> Option<&[Topic]> {
    let patterns = seen.reasons.iter().filter(|reason| reason.factor == Factor::Pattern);
    let heaviest = patterns.map(|reason| reason.weight.tier()).max();
    seen.trace.question().topics().filter(|_| heaviest == Some(seen.tier))
}
