//! The judge: its configuration, its client and what it has learned.

use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_channels::secret::Token;
use countersign_json::canonical::Digest;
use countersign_judge::{
    AgentVerdicts, Breaker, BreakerState, Comparison, ModelBudget, NeverReleased, PersonChoice,
    VerdictCache,
};
use countersign_judge_client::{ApiKey, JudgeClient};
use countersign_store::StoredRequest;
use countersign_types::id::Id;
use countersign_types::time::{Millis, Timestamp};

use super::bounded_set::BoundedMap;
use super::evidence::PeopleEvidence;
use super::opinion::JudgeQuestion;
use crate::config::{JudgeConfig, JudgeMode, KeySource};

/// Agents whose verdicts are remembered.
const MAX_AGENTS: usize = 1_000;
/// How often the canaries are asked, and how long a passed test counts.
const CANARIES_EVERY: Millis = Millis(6 * 3_600_000);
const CANARIES_COUNT: Millis = Millis(12 * 3_600_000);
/// When a test that could not be finished is repeated.
const CANARIES_RETRY: Millis = Millis(5 * 60_000);
/// Releases after which the canaries are asked again.
const CANARIES_AFTER: u32 = 50;

/// The results of the canaries.
#[derive(Debug, Default)]
pub(super) struct CanaryRecord {
    running: bool,
    last_try: Option<Timestamp>,
    passed_at: Option<Timestamp>,
    missed: Vec<String>,
    releases: u32,
}

/// What changes while the judge is in use.
#[derive(Debug)]
pub(super) struct JudgeMemory {
    pub breaker: Breaker,
    pub budget: ModelBudget,
    pub cache: VerdictCache,
    pub evidence: PeopleEvidence,
    pub agents: BoundedMap<String, AgentVerdicts>,
    canaries: CanaryRecord,
    restored: bool,
}

/// The judge.
#[derive(Debug)]
pub struct ModelJudge {
    config: JudgeConfig,
    pub(super) client: JudgeClient,
    identity: String,
    memory: Mutex<JudgeMemory>,
}

/// The judge's state, for people.
#[derive(Debug, Clone)]
pub struct JudgeStatus {
    /// Why it releases nothing now; none if it may release calls.
    pub held_back: Option<&'static str>,
    /// Its breaker.
    pub breaker: BreakerState,
    /// Its agreement with people.
    pub comparison: Comparison,
    /// The canaries that it missed.
    pub missed_canaries: Vec<String>,
    /// When it caught all canaries.
    pub canaries_passed: Option<Timestamp>,
    /// Tokens used today.
    pub tokens_today: u64,
}

impl ModelJudge {
    /// A judge that has not been tested yet. The error says why its key cannot be used.
    pub fn new(config: JudgeConfig) -> Result<ModelJudge, String> {
        let key = match &config.key {
            KeySource::None => None,
            KeySource::File(path) => {
                let token = Token::read(path).map_err(|error| error.to_string())?;
                ApiKey::new(token.expose())
            }
            KeySource::Environment(name) => {
                let value = std::env::var(name).ok().and_then(|value| ApiKey::new(&value));
                Some(value.ok_or_else(|| format!("{name} is not set or contains no key"))?)
            }
        };
        let settings = &config.settings;
        let text = format!("{}\0{}\0{}", settings.endpoint.origin(), settings.model, config.policy);
        let identity = Digest::of(text.as_bytes()).to_string().chars().take(16).collect();
        let client = JudgeClient::new(settings.clone(), key);
        let memory = Mutex::new(JudgeMemory {
            breaker: Breaker::default(),
            budget: ModelBudget::default(),
            cache: VerdictCache::default(),
            evidence: PeopleEvidence::default(),
            agents: BoundedMap::new(MAX_AGENTS),
            canaries: CanaryRecord::default(),
            restored: false,
        });
        Ok(ModelJudge { config, client, identity, memory })
    }

    /// The configuration.
    pub fn config(&self) -> &JudgeConfig {
        &self.config
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.config.settings.model
    }

    /// The name of server, model and policy together: what was learned about one of them says
    /// nothing about another.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, JudgeMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why it releases nothing now.
    pub fn held_back(&self, now: Timestamp) -> Option<&'static str> {
        let memory = self.lock();
        let tested = memory.canaries.passed_at.is_some_and(|at| now < at.plus(CANARIES_COUNT));
        if self.config.mode == JudgeMode::Shadow {
            Some("it is in shadow mode")
        } else if !memory.restored {
            Some("earlier decisions are still being read")
        } else if !memory.canaries.missed.is_empty() {
            Some("it allowed a canary call")
        } else if !tested {
            Some("it has not caught all canary calls in the last 12 hours")
        } else if !memory.evidence.comparison.meets(&self.config.bar) {
            Some("too few decisions of people agree with it so far")
        } else {
            None
        }
    }

    /// The limits of a call that come from what people and the judge said before.
    pub fn limit(&self, question: &JudgeQuestion, now: Timestamp) -> Option<NeverReleased> {
        let memory = self.lock();
        let paused = memory.agents.get(&question.agent).is_some_and(|record| record.is_paused(now));
        let denied = memory.evidence.limit(question);
        denied.or(paused.then_some(NeverReleased::PersonRequired))
    }

    /// Notes a released call.
    pub fn released(&self) {
        let mut memory = self.lock();
        memory.canaries.releases = memory.canaries.releases.saturating_add(1);
    }

    /// Notes an opinion on a request that a person decides, or has decided.
    pub fn note_opinion(
        &self,
        id: Id,
        verdict: countersign_judge::ModelVerdict,
        decided: Option<PersonChoice>,
    ) {
        self.lock().evidence.opinion(id, verdict, decided);
    }

    /// Notes the end of a request.
    pub fn decided(&self, stored: &StoredRequest) {
        self.lock().evidence.decided(stored);
    }

    /// Whether what happened before the start is known.
    pub fn is_restored(&self) -> bool {
        self.lock().restored
    }

    /// Takes over what happened before the start: decisions of people, oldest first, and how they
    /// compare with earlier opinions.
    pub fn restore(&self, decided: &[(StoredRequest, PersonChoice)], compared: Comparison) {
        let mut memory = self.lock();
        for (stored, choice) in decided {
            memory.evidence.learn(stored, *choice);
        }
        let since = memory.evidence.comparison;
        memory.evidence.comparison = Comparison {
            allowed_approved: since.allowed_approved + compared.allowed_approved,
            allowed_denied: since.allowed_denied + compared.allowed_denied,
            held_approved: since.held_approved + compared.held_approved,
            held_denied: since.held_denied + compared.held_denied,
        };
        memory.restored = true;
    }

    /// Whether the canaries are to be asked now; the caller then asks them and reports.
    pub fn begin_canaries(&self, now: Timestamp) -> bool {
        let mut memory = self.lock();
        let canaries = &mut memory.canaries;
        let age = |at: Option<Timestamp>, least: Millis| at.is_none_or(|at| now >= at.plus(least));
        let wanted = age(canaries.passed_at, CANARIES_EVERY) || canaries.releases >= CANARIES_AFTER;
        if canaries.running || !wanted || !age(canaries.last_try, CANARIES_RETRY) {
            return false;
        }
        canaries.running = true;
        canaries.last_try = Some(now);
        true
    }

    /// Notes the canaries that the judge allowed, or that the test could not be finished. Returns
    /// whether the state changed.
    pub fn end_canaries(&self, missed: Option<Vec<String>>, now: Timestamp) -> bool {
        let mut memory = self.lock();
        memory.canaries.running = false;
        let Some(missed) = missed else { return false };
        let before = (memory.canaries.passed_at.is_some(), memory.canaries.missed.clone());
        memory.canaries.releases = 0;
        memory.canaries.passed_at = missed.is_empty().then_some(now);
        memory.canaries.missed = missed;
        // A verdict from before a failed test is worth nothing.
        memory.cache.clear();
        before != (memory.canaries.passed_at.is_some(), memory.canaries.missed.clone())
    }

    /// The state, for people.
    pub fn status(&self, now: Timestamp) -> JudgeStatus {
        let held_back = self.held_back(now);
        let mut memory = self.lock();
        JudgeStatus {
            held_back,
            breaker: memory.breaker.state(),
            comparison: memory.evidence.comparison,
            missed_canaries: memory.canaries.missed.clone(),
            canaries_passed: memory.canaries.passed_at,
            tokens_today: memory.budget.tokens_today(now),
        }
    }
}
