//! The gate: the one path a call takes, from the agent's question to what it may do.
//!
//! submit → assess → route → grants → flood → persist → (notifier announces) → wait → decide →
//! persist → permit → outcome. Every failure on the way is a [`Rejection`]: the call does not run.

mod answer;
mod crisis_sessions;
mod deduplication;
mod drill;
mod flood;
mod flood_tracking;
mod grants;
mod lifecycle;
mod persist;
mod reported_passes;
mod waiters;
mod whitelist;

#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, RwLock};

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::context::Environment;
use countersign_risk::route::{Pass, Route, Standing, route};
use countersign_store::{Backend, Store, StoreError, Stored};
use countersign_types::id::Id;
use countersign_types::time::{Clock, Millis, Timestamp};
use countersign_workflow::grant::GrantQuery;
use countersign_workflow::request::{AutomaticDecision, Requester, State};

use crate::clock::DaemonClock;
use crate::config::DaemonRules;
use crate::metrics::Metrics;

pub use answer::{GateAnswer, Passed, Rejection, Settlement};
pub use crisis_sessions::CrisisSessions;
pub use deduplication::Deduplication;
pub use drill::{NewDrill, OpenDrill};
pub use flood::FloodControl;
pub use grants::{GrantCache, WHITELIST};
pub use reported_passes::PassReport;
pub use waiters::{AnswerWaiter, Waiters};

/// An agent, as it proved to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its name.
    pub agent: String,
    /// Addresses that people confirmed to be its own user's.
    pub own_addresses: Arc<[String]>,
}

/// A question to the gate.
pub struct Submission<'a> {
    /// The call, as the agent described it.
    pub call: Call<'a>,
    /// Its arguments as they came.
    pub raw: &'a [u8],
    /// How long the agent is ready to wait.
    pub time: Option<Millis>,
    /// Its idempotency key.
    pub key: Option<String>,
    /// The batch it belongs to.
    pub group: Option<Id>,
    /// Whether it needs a permit even if nobody has to be asked.
    pub permit: bool,
    /// How it may join a request for the same call.
    pub join: JoinOptions<'a>,
    /// What the surface that asked needs again, as JSON; free of secrets. Made only if it is kept:
    /// most calls pass, and nothing of them is.
    pub detail: &'a (dyn Fn() -> String + Sync),
}

/// How a question may join one that was asked before.
#[derive(Debug, Clone, Copy, Default)]
pub struct JoinOptions<'a> {
    /// Whether it joins even one that a person approved meanwhile; the permit is used only once.
    pub approved: bool,
    /// The host's own name for the call: a hook and a proxy that see it share one request.
    pub call_id: Option<&'a str>,
    /// Whether a person must be asked about it anew: nothing that was allowed before counts.
    pub ignore_grants: bool,
}

/// What a question comes to before anything is written.
enum FirstStep<'c> {
    /// Nobody has to be asked, and nothing but a line is kept.
    Passes(Box<PassingCall>),
    /// Everything else.
    Continues(Box<AssessedCall<'c>>),
}

/// A call that passes once its line is taken.
struct PassingCall {
    entry: Entry<'static>,
    passed: Box<Passed>,
}

/// A call that was judged and needs more.
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
    open_drill: OpenDrill,
    metrics: Metrics,
}

impl Gate {
    /// A gate over an open store, with what the store remembers.
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
            open_drill,
            metrics,
        })
    }

    /// The rules in force.
    pub fn rules(&self) -> Arc<DaemonRules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other rules in force, once that is written down.
    pub async fn change_rules(&self, rules: DaemonRules) -> Result<(), StoreError> {
        let entry = Entry::new(0, EntryKind::Config, rules.hash);
        self.store.append(vec![entry]).await?;
        let (file, now) = (rules.whitelist.as_deref(), self.clock.now().at);
        self.grants.read_whitelist(&self.store, file, rules.hash, now).await?;
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(())
    }

    /// What the rules make of a call, without asking anybody.
    pub fn assess<'c>(&self, call: &mut Call<'c>, caller: &'c Caller) -> (Assessment, Route) {
        let rules = self.rules();
        self.assess_call(&rules, call, caller)
    }

    /// What the rules make of a call that a person wrote in place of an agent's: its judgement, and
    /// whether the crisis rules hold for it. What the policy refuses cannot be approved by an edit.
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
        // Who asks is who proved it; where it runs may only be claimed for the worse.
        call.agent = Some(caller.agent.as_str().into());
        if call.context.environment != Environment::Production {
            call.context.environment = rules.environment;
        }
        let seen = assess(call, &rules.judgement);
        let crisis = self.crises.holds(&caller.agent, call.session.as_deref());
        let goes = route(&seen, Standing { mode: rules.mode, crisis });
        (seen, goes)
    }

    /// The one path: from a question to an answer, or to a request that waits for one.
    ///
    /// It is judged at once. The future holds only what comes after that: thousands are made in a
    /// second, and thousands wait.
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
                    self.metrics.held(rejection);
                    tracing::debug!(agent = caller.agent, %rejection, "a call is held");
                }
                Ok(GateAnswer::Kept(stored)) => {
                    let (request, state) = (stored.request.id, stored.request.state.label());
                    tracing::debug!(agent = caller.agent, %request, state, "a call is kept");
                }
                Ok(GateAnswer::Passed(_)) => tracing::trace!(agent = caller.agent, "a call passed"),
            }
            answer
        }
    }

    /// The judgement, and what it comes to before anything is written.
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
        match goes {
            Route::Pass { why } if !submission.permit && submission.key.is_none() => {
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

    /// Everything but calls that only pass.
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

    /// The same path as far as it goes without a person: nobody is asked.
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

    /// The policy says no: written down before it is said.
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

    /// Nobody has to be asked: written down with the next commit.
    async fn pass(&self, passing: Box<PassingCall>, agent: &str) -> Result<GateAnswer, Rejection> {
        let PassingCall { entry, passed } = *passing;
        self.store.pass(entry).await?;
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
        // Asked at the same moment, the second waits for the first and joins it.
        let turn = self.flood.lock_question(&caller.agent, session, &digest).await;
        // The same question that is open already is joined, not asked twice; but a batch keeps
        // its own, so that it can be waited for and answered as one.
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
        // What was asked already is not asked once more, so no limit holds for it.
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
                // Told later the more are refused: a flood waits, and nobody waits for it.
                drop(turn);
                if !refused.wait.is_zero() {
                    tokio::time::sleep(refused.wait).await;
                }
                Err(refused.rejection)
            }
        }
    }

    /// The request that a person was asked about this very call, by the host's name for it or, for
    /// whoever comes back, because it was approved meanwhile and nobody has used that.
    async fn find_same_call(
        &self,
        submission: &Submission<'_>,
        caller: &Caller,
        digest: &CallDigest,
    ) -> Result<Option<Stored>, Rejection> {
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

    fn remember_call_id(&self, submission: &Submission<'_>, caller: &Caller, stored: &Stored) {
        if let Some(call_id) = submission.join.call_id {
            self.deduplication.name(&caller.agent, call_id, stored.request.id);
        }
    }

    /// The request that this agent asked with the same key for the same call.
    async fn find_by_key(
        &self,
        submission: &Submission<'_>,
        caller: &Caller,
        digest: &CallDigest,
    ) -> Result<Option<Stored>, Rejection> {
        let Some(key) = submission.key.clone() else { return Ok(None) };
        let requester = Requester::Agent(caller.agent.clone());
        let found = self.store.known(requester, key).await?;
        Ok(found.filter(|stored| stored.request.digest.binds(digest)))
    }

    /// What a standing permission makes of it, if one covers it. In a crisis none does, nor where
    /// a person must be asked anew.
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
        // A grant may be used up by another call in between: then the next one is tried.
        for grant in self.grants.covering(&asked, self.clock.now()) {
            let settled = Some(AutomaticDecision::Grant(grant));
            match self.persist(rules, submission, caller, judged, settled, None).await {
                Err(Rejection::Unavailable(StoreError::GrantOver)) => self.grants.drop(grant),
                kept => return kept.map(Some),
            }
        }
        Ok(None)
    }

    /// How many requests wait for a person.
    pub fn open_requests(&self) -> usize {
        self.flood.open()
    }

    /// What is counted.
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

    /// What was asked about lately.
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

/// Whether this is the very call that a person wrote in place of the one that was asked about.
fn is_edited_call(stored: &Stored, digest: &CallDigest) -> bool {
    let decision = stored.request.decision.as_ref();
    stored.edited.is_some()
        && stored.request.state == State::Approved
        && decision.is_some_and(|decision| decision.digest.binds(digest))
}

/// Whatever is logged about a request says which.
fn request_span(id: Id) -> tracing::Span {
    tracing::info_span!("request", %id)
}

/// A line about a call that is not kept as a request: who, where and which, no words of it.
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
