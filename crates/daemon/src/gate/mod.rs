//! The gate: the one path of a call, from its submission to its permit.
//!
//! submit → assess → route → grants → flood → persist → (notifier announces) → wait → decide →
//! persist → permit → outcome. Every failure on the way is a [`Rejection`]: the call does not run.

mod answer;
mod caller;
mod crisis_sessions;
mod deduplication;
mod drill;
mod flood;
mod flood_tracking;
mod grants;
mod integrity;
mod integrity_state;
mod ledger_note;
mod lifecycle;
mod mode;
mod open_drill;
mod persist;
mod reported_passes;
mod session_memory;
mod waiters;
mod whitelist;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::context::Environment;
use countersign_risk::facts::{FactObserver, FactsKey};
use countersign_risk::route::{Pass, Route, Standing, route};
use countersign_risk::verdict::Mode;
use countersign_store::{Backend, Store, StoreError, StoredRequest};
use countersign_types::id::Id;
use countersign_types::time::{Clock, Millis, Timestamp};
use countersign_workflow::grant::GrantQuery;
use countersign_workflow::request::{AutomaticDecision, Requester, State};

use crate::clock::DaemonClock;
use crate::config::{DaemonRules, mode_name};
use crate::metrics::Metrics;

pub use answer::{GateAnswer, Passed, Rejection, Settlement};
pub use caller::Caller;
pub use crisis_sessions::CrisisSessions;
pub use deduplication::Deduplication;
pub use drill::NewDrill;
pub use flood::FloodControl;
pub use grants::{GrantCache, WHITELIST};
pub use integrity_state::Integrity;
pub use open_drill::OpenDrill;
pub use reported_passes::PassReport;
use session_memory::SessionMemories;
pub use waiters::{AnswerWaiter, Waiters};

/// A call submitted to the gate.
pub struct Submission<'a> {
    /// The call, as the agent described it.
    pub call: Call<'a>,
    /// Its arguments as received.
    pub raw: &'a [u8],
    /// How long the agent waits.
    pub time: Option<Millis>,
    /// Its idempotency key.
    pub key: Option<String>,
    /// The batch it belongs to.
    pub group: Option<Id>,
    /// Whether it needs a permit even without a question.
    pub permit: bool,
    /// How it may join an existing request for the same call.
    pub join: JoinOptions<'a>,
    /// Data that the calling API needs to build its response again, as JSON; redacted. Built only
    /// for stored requests, because most calls pass.
    pub detail: &'a (dyn Fn() -> String + Sync),
}

/// How a call may join an existing request.
#[derive(Debug, Clone, Copy, Default)]
pub struct JoinOptions<'a> {
    /// Whether it joins a request that was approved meanwhile; the permit is used only once.
    pub approved: bool,
    /// The host's id of the call: a hook and a proxy that see the same call share one request.
    pub call_id: Option<&'a str>,
    /// Whether a person must decide again: earlier approvals and grants do not count.
    pub ignore_grants: bool,
}

/// The result of the assessment, before anything is written.
enum FirstStep<'c> {
    /// The call passes; only a ledger entry is written.
    Passes(Box<PassingCall>),
    /// Everything else.
    Continues(Box<AssessedCall<'c>>),
}

/// A call that passes once its entry is accepted.
struct PassingCall {
    entry: Entry<'static>,
    passed: Box<Passed>,
}

/// An assessed call that needs more than an entry.
struct AssessedCall<'c> {
    rules: Arc<DaemonRules>,
    submission: Submission<'c>,
    seen: Assessment,
    digest: CallDigest,
    goes: Route,
}

impl PassingCall {
    fn new(
        rules: &DaemonRules,
        submission: &Submission<'_>,
        (assessment, digest, why): (Assessment, CallDigest, Pass),
        at: Timestamp,
    ) -> PassingCall {
        let mut entry = submission_entry(EntryKind::Pass, rules, submission, &digest);
        entry.facts = answer::pass_facts(&assessment, why);
        PassingCall { entry, passed: Box::new(Passed { assessment, digest, why, at }) }
    }
}

/// The gate.
pub struct Gate {
    store: Arc<Backend>,
    clock: Arc<DaemonClock>,
    rules: RwLock<Arc<DaemonRules>>,
    crises: CrisisSessions,
    grants: GrantCache,
    flood: FloodControl,
    deduplication: Deduplication,
    waiters: Waiters,
    session_memories: SessionMemories,
    open_drill: OpenDrill,
    integrity: Integrity,
    requested_mode: RwLock<Option<Mode>>,
    metrics: Metrics,
    facts_key: OnceLock<FactsKey>,
}

impl Gate {
    /// Opens a gate with the state in the store.
    pub async fn open(
        store: Arc<Backend>,
        clock: Arc<DaemonClock>,
        rules: DaemonRules,
    ) -> Result<Gate, StoreError> {
        let crises = CrisisSessions::new(store.crises().await?);
        let grants = GrantCache::default();
        let (file, now) = (rules.whitelist.as_deref(), clock.now().at);
        grants.read_whitelist(&store, file, rules.hash, now).await?;
        let pending = store.pending().await?;
        let (flood, open_drill) = (FloodControl::new(&pending), OpenDrill::new(&pending));
        let (rules, metrics) = (RwLock::new(Arc::new(rules)), Metrics::default());
        let (deduplication, waiters) = (Deduplication::default(), Waiters::default());
        Ok(Gate {
            store,
            clock,
            rules,
            crises,
            grants,
            flood,
            deduplication,
            waiters,
            session_memories: SessionMemories::default(),
            open_drill,
            integrity: Integrity::default(),
            requested_mode: RwLock::default(),
            metrics,
            facts_key: OnceLock::new(),
        })
    }

    /// Sets the key with which the hook proves what it found. Without it, facts can only raise.
    pub fn set_facts_key(&self, key: FactsKey) {
        // It is set once, when the daemon starts.
        let _ = self.facts_key.set(key);
    }

    /// The rules in force.
    pub fn rules(&self) -> Arc<DaemonRules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the rules, after the change is in the ledger. A weaker mode waits for a person.
    pub async fn change_rules(&self, rules: DaemonRules) -> Result<(), StoreError> {
        let changes = self.rules().written.changes(&rules.written);
        let rules = self.confirmed(rules).await?;
        let mut entry = Entry::new(0, EntryKind::Config, rules.hash);
        let text = |text: String| countersign_json::Value::String(text.into());
        if !changes.is_empty() {
            let changes = changes.into_iter().map(text).collect();
            entry.facts.push(("changes".into(), countersign_json::Value::Array(changes)));
        }
        if let Some(mode) = self.requested_mode() {
            entry.facts.push(("requested_mode".into(), text(mode_name(mode).to_owned())));
        }
        self.store.append(vec![entry]).await?;
        let (file, now) = (rules.whitelist.as_deref(), self.clock.now().at);
        self.grants.read_whitelist(&self.store, file, rules.hash, now).await?;
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(())
    }

    /// Assesses a call without a question.
    pub fn assess<'c>(&self, call: &mut Call<'c>, caller: &'c Caller) -> (Assessment, Route) {
        let rules = self.rules();
        self.assess_call(&rules, call, caller)
    }

    /// Assesses a call that a person edited: the assessment, and whether the crisis rules apply. An
    /// edit cannot approve a call that the policy denies.
    pub fn assess_edit(&self, call: &Call<'_>) -> Result<(Assessment, bool), Rejection> {
        let rules = self.rules();
        let mut context = call.context;
        if context.environment != Environment::Production {
            context.environment = rules.environment;
        }
        let call = Call { context, ..call.clone() };
        let seen = assess(&call, &rules.judgement);
        let agent = call.agent.as_deref().unwrap_or_default();
        let crisis = self.crises.holds(agent, call.session.as_deref());
        match route(&seen, Standing { mode: rules.mode, crisis }) {
            Route::Refuse => Err(Rejection::Refused),
            Route::Ask { crisis } => Ok((seen, crisis)),
            Route::Pass { .. } => Ok((seen, crisis)),
        }
    }

    fn assess_call<'c>(
        &self,
        rules: &DaemonRules,
        call: &mut Call<'c>,
        caller: &'c Caller,
    ) -> (Assessment, Route) {
        // The agent is the authenticated one; claims about the environment can only raise the risk.
        call.agent = Some(caller.agent.as_str().into());
        call.context.host = caller.accepted_host(call.context.host);
        if let Some(facts) = &mut call.facts {
            let observer = facts.claim.map(|claim| claim.observer(self.facts_key.get()));
            Arc::make_mut(facts).observer = observer.unwrap_or(FactObserver::Agent);
        }
        if call.context.environment != Environment::Production {
            call.context.environment = rules.environment;
        }
        let seen = self.session_memories.assess(call, &rules.judgement);
        let crisis = self.crises.holds(&caller.agent, call.session.as_deref());
        let goes = route(&seen, Standing { mode: rules.mode, crisis });
        (seen, goes)
    }

    /// The path of a call: from its submission to an answer or a pending request.
    ///
    /// The assessment runs at once. The future contains only what follows, to keep it small:
    /// thousands are created per second, and thousands wait.
    pub fn submit<'c>(
        &'c self,
        submission: Submission<'c>,
        caller: &'c Caller,
    ) -> impl Future<Output = Result<GateAnswer, Rejection>> + Send + 'c {
        let first_step = self.assess_submission(submission, caller);
        async move {
            let answer = match first_step {
                FirstStep::Passes(passing) => self.pass(passing, &caller.agent).await,
                FirstStep::Continues(assessed) => {
                    Box::pin(self.continue_submission(assessed, caller)).await
                }
            };
            match &answer {
                Err(rejection) => {
                    if let Some(why) = rejection.metrics_label() {
                        self.metrics.held(why);
                    }
                    tracing::debug!(agent = caller.agent, %rejection, "a call was rejected");
                }
                Ok(GateAnswer::Kept(stored)) => {
                    let (request, state) = (stored.request.id, stored.request.state.label());
                    tracing::debug!(agent = caller.agent, %request, state, "a request was stored");
                }
                Ok(GateAnswer::Passed(_)) => tracing::trace!(agent = caller.agent, "a call passed"),
            }
            answer
        }
    }

    /// The assessment and its result, before anything is written.
    fn assess_submission<'c>(
        &self,
        mut submission: Submission<'c>,
        caller: &'c Caller,
    ) -> FirstStep<'c> {
        let rules = self.rules();
        let (seen, goes) = self.assess_call(&rules, &mut submission.call, caller);
        let now = self.clock.now().at;
        self.metrics.call(&goes, seen.tier, &caller.agent, now);
        let digest = digest(&submission.call, submission.raw);
        if matches!(goes, Route::Pass { .. }) {
            self.session_memories.add(&submission.call, &seen.trace);
        }
        match goes {
            // A gate that only observes approves nothing, so there is nothing to sign or to repeat.
            Route::Pass { why }
                if rules.mode != Mode::Enforce
                    || !submission.permit && submission.key.is_none() =>
            {
                let judged = (seen, digest, why);
                FirstStep::Passes(Box::new(PassingCall::new(&rules, &submission, judged, now)))
            }
            _ => FirstStep::Continues(Box::new(AssessedCall {
                rules,
                submission,
                seen,
                digest,
                goes,
            })),
        }
    }

    /// Handles all calls that do not just pass.
    async fn continue_submission(
        &self,
        assessed: Box<AssessedCall<'_>>,
        caller: &Caller,
    ) -> Result<GateAnswer, Rejection> {
        let AssessedCall { rules, submission, seen, digest, goes } = &*assessed;
        match *goes {
            Route::Pass { .. } => {
                let settled = Some(AutomaticDecision::Policy);
                self.persist(rules, submission, caller, (seen, *digest, false), settled, None).await
            }
            Route::Refuse => Err(self.refuse(rules, submission, seen, *digest).await),
            Route::Ask { crisis } => {
                self.ask(rules, submission, caller, (seen, *digest, crisis)).await
            }
        }
    }

    /// The same path without a person: no one is asked.
    pub async fn settle<'c>(
        &self,
        mut submission: Submission<'c>,
        caller: &'c Caller,
    ) -> Result<Settlement, Rejection> {
        let rules = self.rules();
        let (seen, goes) = self.assess_call(&rules, &mut submission.call, caller);
        let digest = digest(&submission.call, submission.raw);
        match goes {
            Route::Pass { why } => {
                let judged = (seen, digest, why);
                let passing = PassingCall::new(&rules, &submission, judged, self.clock.now().at);
                self.pass(Box::new(passing), &caller.agent).await.map(Settlement::Answered)
            }
            Route::Refuse => Err(self.refuse(&rules, &submission, &seen, digest).await),
            Route::Ask { crisis } => {
                let judged = (&seen, digest, crisis);
                let granted = self.settle_by_grant(&rules, &submission, caller, judged).await?;
                Ok(granted.map_or_else(
                    || Settlement::Asks(Box::new(seen.clone()), digest),
                    Settlement::Answered,
                ))
            }
        }
    }

    /// Denies by policy, after the denial is in the ledger.
    async fn refuse(
        &self,
        rules: &DaemonRules,
        submission: &Submission<'_>,
        seen: &Assessment,
        digest: CallDigest,
    ) -> Rejection {
        let mut entry = submission_entry(EntryKind::Deny, rules, submission, &digest);
        entry.facts = answer::pass_facts(seen, Pass::Harmless);
        self.store.append(vec![entry]).await.map_or_else(Rejection::from, |()| Rejection::Refused)
    }

    /// Lets a call pass; its entry is in the next commit.
    async fn pass(&self, passing: Box<PassingCall>, agent: &str) -> Result<GateAnswer, Rejection> {
        let PassingCall { entry, passed } = *passing;
        // A harmless call needs no approval; one that is only observed would have needed it.
        if passed.why == Pass::Watching {
            self.integrity.check()?;
        }
        self.store.record_pass(entry).await?;
        let seen = &passed.assessment;
        self.metrics.passed(&seen.tool, agent, seen.tier, passed.at, || self.clock.now().at);
        Ok(GateAnswer::Passed(passed))
    }

    async fn ask(
        &self,
        rules: &DaemonRules,
        submission: &Submission<'_>,
        caller: &Caller,
        judged: (&Assessment, CallDigest, bool),
    ) -> Result<GateAnswer, Rejection> {
        let (_, digest, crisis) = judged;
        if submission.group.is_none()
            && !submission.join.ignore_grants
            && let Some(stored) = self.find_same_call(submission, caller, &digest).await?
        {
            return Ok(GateAnswer::Kept(Box::new(stored)));
        }
        if let Some(answer) = self.settle_by_grant(rules, submission, caller, judged).await? {
            return Ok(answer);
        }
        let session = submission.call.session.as_deref().unwrap_or_default();
        // A concurrent submission of the same call waits for the first and joins it.
        let turn = self.flood.lock_question(&caller.agent, session, &digest).await;
        // A pending request for the same call is joined; but a batch has its own requests, so that
        // it can be decided as one.
        if let Some(open) = self.flood.same(&caller.agent, session, &digest)
            && submission.key.is_none()
            && submission.group.is_none()
            && !submission.join.ignore_grants
            && let Some(stored) = self.store.request(open).await?
            && !stored.request.state.has_ended()
        {
            self.remember_call_id(submission, caller, &stored);
            return Ok(GateAnswer::Kept(Box::new(stored)));
        }
        // An existing request is not announced again, so no limit applies to it.
        if let Some(stored) = self.find_by_key(submission, caller, &digest).await? {
            return Ok(GateAnswer::Kept(Box::new(stored)));
        }
        let now = self.clock.now().at;
        match self.flood.reserve(&rules.flood, &caller.agent, crisis, now) {
            Ok(place) => {
                let kept =
                    self.persist(rules, submission, caller, judged, None, Some(place)).await?;
                if let GateAnswer::Kept(stored) = &kept {
                    self.remember_call_id(submission, caller, stored);
                }
                Ok(kept)
            }
            Err(refused) => {
                // Each further rejection is delayed more, which slows a flood down.
                drop(turn);
                if !refused.wait.is_zero() {
                    tokio::time::sleep(refused.wait).await;
                }
                Err(refused.rejection)
            }
        }
    }

    /// The existing request for the same call: by the host's id, or, for a retry, because it was
    /// approved meanwhile and its permit is unused.
    async fn find_same_call(
        &self,
        submission: &Submission<'_>,
        caller: &Caller,
        digest: &CallDigest,
    ) -> Result<Option<StoredRequest>, Rejection> {
        let JoinOptions { approved, call_id, .. } = submission.join;
        if let Some(call_id) = call_id
            && let Some(id) = self.deduplication.named(&caller.agent, call_id)
            && let Some(stored) = self.store.request(id).await?
            && (stored.request.digest.binds(digest) || is_edited_call(&stored, digest))
        {
            return Ok(Some(stored));
        }
        let session = submission.call.session.as_deref().unwrap_or_default();
        if approved
            && let Some(id) = self.deduplication.approved(&caller.agent, session, digest)
            && let Some(stored) = self.store.request(id).await?
            && stored.request.state == State::Approved
            && stored.redeemed.is_none()
            && stored.permit_until.is_some_and(|until| self.clock.now().at < until)
            && stored.request.digest.binds(digest)
        {
            self.remember_call_id(submission, caller, &stored);
            return Ok(Some(stored));
        }
        Ok(None)
    }

    fn remember_call_id(
        &self,
        submission: &Submission<'_>,
        caller: &Caller,
        stored: &StoredRequest,
    ) {
        if let Some(call_id) = submission.join.call_id {
            self.deduplication.name(&caller.agent, call_id, stored.request.id);
        }
    }

    /// The request of this agent with the same idempotency key and call.
    async fn find_by_key(
        &self,
        submission: &Submission<'_>,
        caller: &Caller,
        digest: &CallDigest,
    ) -> Result<Option<StoredRequest>, Rejection> {
        let Some(key) = submission.key.clone() else { return Ok(None) };
        let requester = Requester::Agent(caller.agent.clone());
        let found = self.store.request_by_key(requester, key).await?;
        Ok(found.filter(|stored| stored.request.digest.binds(digest)))
    }

    /// Decides by a grant, if one covers the call. None does in a crisis, or where a person must
    /// decide again.
    async fn settle_by_grant(
        &self,
        rules: &DaemonRules,
        submission: &Submission<'_>,
        caller: &Caller,
        judged: (&Assessment, CallDigest, bool),
    ) -> Result<Option<GateAnswer>, Rejection> {
        let (seen, digest, crisis) = judged;
        if crisis || submission.join.ignore_grants {
            return Ok(None);
        }
        let asked = GrantQuery {
            agent: &caller.agent,
            session: submission.call.session.as_deref().unwrap_or_default(),
            own_addresses: &caller.own_addresses,
            digest: &digest,
            arguments: &submission.call.arguments,
            assessment: seen,
            crisis,
        };
        // Another call may have consumed the grant meanwhile; then the next one is tried.
        for grant in self.grants.covering(&asked, self.clock.now()) {
            let settled = Some(AutomaticDecision::Grant(grant));
            match self.persist(rules, submission, caller, judged, settled, None).await {
                Err(Rejection::Unavailable(StoreError::GrantInactive)) => self.grants.drop(grant),
                kept => return kept.map(Some),
            }
        }
        Ok(None)
    }

    /// The number of pending requests.
    pub fn open_requests(&self) -> usize {
        self.flood.open()
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The store.
    pub fn store(&self) -> &Backend {
        &self.store
    }

    /// The clock.
    pub fn clock(&self) -> &DaemonClock {
        &self.clock
    }

    /// Recent requests.
    pub fn deduplication(&self) -> &Deduplication {
        &self.deduplication
    }

    /// Sessions in crisis.
    pub fn crises(&self) -> &CrisisSessions {
        &self.crises
    }

    /// Grants.
    pub fn grants(&self) -> &GrantCache {
        &self.grants
    }
}

/// Whether this is the edited call that a person approved.
fn is_edited_call(stored: &StoredRequest, digest: &CallDigest) -> bool {
    let decision = stored.request.decision.as_ref();
    stored.edited.is_some()
        && stored.request.state == State::Approved
        && decision.is_some_and(|decision| decision.digest.binds(digest))
}

/// The log span of a request.
fn request_span(id: Id) -> tracing::Span {
    tracing::info_span!("request", %id)
}

/// A ledger entry about a call that is not stored as a request, without any text of the call.
fn submission_entry(
    kind: EntryKind,
    rules: &DaemonRules,
    submission: &Submission<'_>,
    digest: &CallDigest,
) -> Entry<'static> {
    call_entry(kind, rules, &submission.call, digest)
}

fn call_entry(
    kind: EntryKind,
    rules: &DaemonRules,
    call: &Call<'_>,
    digest: &CallDigest,
) -> Entry<'static> {
    let mut entry = Entry::new(0, kind, rules.hash);
    entry.agent = call.agent.clone().map(|agent| agent.into_owned().into());
    entry.session = call.session.clone().map(|session| session.into_owned().into());
    entry.digest = Some(digest.canonical);
    entry
}
