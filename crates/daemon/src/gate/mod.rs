//! The gate: the one path a call takes, from the agent's question to what it may do.
//!
//! submit → assess → route → grants → flood → persist → (courier announces) → wait → decide →
//! persist → permit → outcome. Whatever fails on the way ends in [`Rejection`]: the call does not run.

mod answer;
mod crisis;
mod drill;
mod elsewhere;
mod ends;
mod flood;
mod grants;
mod joins;
mod keep;
mod listening;
mod refusals;
mod whitelist;

#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, RwLock};

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::{Entry, Kind};
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::context::Environment;
use countersign_risk::route::{Pass, Route, Standing, route};
use countersign_store::{Backend, Store, StoreError, StoredRequest};
use countersign_types::id::Id;
use countersign_types::time::{Clock, Span, Timestamp};
use countersign_workflow::grant::Asked;
use countersign_workflow::request::{Requester, Settled, State};

use crate::clock::DaemonClock;
use crate::config::Rules;
use crate::metrics::Metrics;

pub use answer::{Answer, Passed, Rejection, Settling};
pub use crisis::Crises;
pub use drill::{NewDrill, OpenDrill};
pub use elsewhere::Reported;
pub use flood::FloodGate;
pub use grants::{Grants, WHITELIST};
pub use joins::Joins;
pub use listening::{Listener, Listening};

/// An agent, as it proved to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its name.
    pub agent: String,
    /// Addresses that people confirmed to be its own user's.
    pub own_addresses: Arc<[String]>,
}

/// A question to the gate.
pub struct Question<'a> {
    /// The call, as the agent described it.
    pub call: Call<'a>,
    /// Its arguments as they came.
    pub raw: &'a [u8],
    /// How long the agent is ready to wait.
    pub time: Option<Span>,
    /// Its idempotency key.
    pub key: Option<String>,
    /// The batch it belongs to.
    pub group: Option<Id>,
    /// Whether it needs a permit even if nobody has to be asked.
    pub permit: bool,
    /// How it may join a request for the same call.
    pub join: Join<'a>,
    /// What the surface that asked needs again, as JSON; free of secrets. Made only if it is kept:
    /// most calls pass, and nothing of them is.
    pub detail: &'a (dyn Fn() -> String + Sync),
}

/// How a question may join one that was asked before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Join<'a> {
    /// Whether it joins even one that a person approved meanwhile; the permit is used only once.
    pub approved: bool,
    /// The host's own name for the call: a hook and a proxy that see it share one request.
    pub call_id: Option<&'a str>,
    /// Whether a person must be asked about it anew: nothing that was allowed before counts.
    pub fresh: bool,
}

/// What a question comes to before anything is written.
enum Weighed<'c> {
    /// Nobody has to be asked, and nothing but a line is kept.
    Passes(Box<Passing>),
    /// Everything else.
    Rest(Box<Rest<'c>>),
}

/// A call that passes once its line is taken.
struct Passing {
    entry: Entry<'static>,
    passed: Box<Passed>,
}

/// A call that was judged and needs more.
struct Rest<'c> {
    rules: Arc<Rules>,
    asks: Question<'c>,
    seen: Assessment,
    digest: CallDigest,
    goes: Route,
}

impl Passing {
    fn new(
        rules: &Rules,
        asks: &Question<'_>,
        (assessment, digest, why): (Assessment, CallDigest, Pass),
        at: Timestamp,
    ) -> Passing {
        let mut entry = entry_of(Kind::Pass, rules, asks, &digest);
        entry.facts = answer::pass_facts(&assessment, why);
        Passing { entry, passed: Box::new(Passed { assessment, digest, why, at }) }
    }
}

/// The gate.
pub struct Gate {
    store: Arc<Backend>,
    clock: Arc<DaemonClock>,
    rules: RwLock<Arc<Rules>>,
    crises: Crises,
    grants: Grants,
    flood: FloodGate,
    joins: Joins,
    listening: Listening,
    open_drill: OpenDrill,
    metrics: Metrics,
}

impl Gate {
    /// A gate over an open store, with what the store remembers.
    pub async fn open(
        store: Arc<Backend>,
        clock: Arc<DaemonClock>,
        rules: Rules,
    ) -> Result<Gate, StoreError> {
        let crises = Crises::new(store.crises().await?);
        let grants = Grants::default();
        let (file, now) = (rules.whitelist.as_deref(), clock.now().at);
        grants.read_whitelist(&store, file, rules.hash, now).await?;
        let pending = store.pending().await?;
        let (flood, open_drill) = (FloodGate::new(&pending), OpenDrill::new(&pending));
        let (rules, metrics) = (RwLock::new(Arc::new(rules)), Metrics::default());
        let (joins, listening) = (Joins::default(), Listening::default());
        Ok(Gate {
            store,
            clock,
            rules,
            crises,
            grants,
            flood,
            joins,
            listening,
            open_drill,
            metrics,
        })
    }

    /// The rules in force.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other rules in force, once that is written down.
    pub async fn change_rules(&self, rules: Rules) -> Result<(), StoreError> {
        let entry = Entry::new(0, Kind::Config, rules.hash);
        self.store.append(vec![entry]).await?;
        let (file, now) = (rules.whitelist.as_deref(), self.clock.now().at);
        self.grants.read_whitelist(&self.store, file, rules.hash, now).await?;
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(())
    }

    /// What the rules make of a call, without asking anybody.
    pub fn assess<'c>(&self, call: &mut Call<'c>, caller: &'c Caller) -> (Assessment, Route) {
        let rules = self.rules();
        self.judge(&rules, call, caller)
    }

    /// What the rules make of a call that a person wrote in place of an agent's: its judgement, and
    /// whether the crisis rules hold for it. What the policy refuses cannot be approved by an edit.
    pub fn judge_edit(&self, call: &Call<'_>) -> Result<(Assessment, bool), Rejection> {
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

    fn judge<'c>(
        &self,
        rules: &Rules,
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
        asks: Question<'c>,
        caller: &'c Caller,
    ) -> impl Future<Output = Result<Answer, Rejection>> + Send + 'c {
        let weighed = self.weigh(asks, caller);
        async move {
            let answer = match weighed {
                Weighed::Passes(passing) => self.pass(passing, &caller.agent).await,
                Weighed::Rest(rest) => Box::pin(self.rest(rest, caller)).await,
            };
            match &answer {
                Err(held) => {
                    self.metrics.held(held);
                    tracing::debug!(agent = caller.agent, %held, "a call is held");
                }
                Ok(Answer::Kept(stored)) => {
                    let (request, state) = (stored.request.id, stored.request.state.label());
                    tracing::debug!(agent = caller.agent, %request, state, "a call is kept");
                }
                Ok(Answer::Passed(_)) => tracing::trace!(agent = caller.agent, "a call passed"),
            }
            answer
        }
    }

    /// The judgement, and what it comes to before anything is written.
    fn weigh<'c>(&self, mut asks: Question<'c>, caller: &'c Caller) -> Weighed<'c> {
        let rules = self.rules();
        let (seen, goes) = self.judge(&rules, &mut asks.call, caller);
        let now = self.clock.now().at;
        self.metrics.call(&goes, seen.tier, &caller.agent, now);
        let digest = digest(&asks.call, asks.raw);
        match goes {
            Route::Pass { why } if !asks.permit && asks.key.is_none() => {
                let judged = (seen, digest, why);
                Weighed::Passes(Box::new(Passing::new(&rules, &asks, judged, now)))
            }
            _ => Weighed::Rest(Box::new(Rest { rules, asks, seen, digest, goes })),
        }
    }

    /// Everything but calls that only pass.
    async fn rest(&self, rest: Box<Rest<'_>>, caller: &Caller) -> Result<Answer, Rejection> {
        let Rest { rules, asks, seen, digest, goes } = &*rest;
        match *goes {
            Route::Pass { .. } => {
                let settled = Some(Settled::Policy);
                self.keep(rules, asks, caller, (seen, *digest, false), settled, None).await
            }
            Route::Refuse => Err(self.refuse(rules, asks, seen, *digest).await),
            Route::Ask { crisis } => self.ask(rules, asks, caller, (seen, *digest, crisis)).await,
        }
    }

    /// The same path as far as it goes without a person: nobody is asked.
    pub async fn settle<'c>(
        &self,
        mut asks: Question<'c>,
        caller: &'c Caller,
    ) -> Result<Settling, Rejection> {
        let rules = self.rules();
        let (seen, goes) = self.judge(&rules, &mut asks.call, caller);
        let digest = digest(&asks.call, asks.raw);
        match goes {
            Route::Pass { why } => {
                let judged = (seen, digest, why);
                let passing = Passing::new(&rules, &asks, judged, self.clock.now().at);
                self.pass(Box::new(passing), &caller.agent).await.map(Settling::Answered)
            }
            Route::Refuse => Err(self.refuse(&rules, &asks, &seen, digest).await),
            Route::Ask { crisis } => {
                let judged = (&seen, digest, crisis);
                let granted = self.by_grant(&rules, &asks, caller, judged).await?;
                Ok(granted.map_or_else(
                    || Settling::Asks(Box::new(seen.clone()), digest),
                    Settling::Answered,
                ))
            }
        }
    }

    /// The policy says no: written down before it is said.
    async fn refuse(
        &self,
        rules: &Rules,
        asks: &Question<'_>,
        seen: &Assessment,
        digest: CallDigest,
    ) -> Rejection {
        let mut entry = entry_of(Kind::Deny, rules, asks, &digest);
        entry.facts = answer::pass_facts(seen, Pass::Harmless);
        self.store.append(vec![entry]).await.map_or_else(Rejection::from, |()| Rejection::Refused)
    }

    /// Nobody has to be asked: written down with the next commit.
    async fn pass(&self, passing: Box<Passing>, agent: &str) -> Result<Answer, Rejection> {
        let Passing { entry, passed } = *passing;
        self.store.record_pass(entry).await?;
        let seen = &passed.assessment;
        self.metrics.passed(&seen.tool, agent, seen.tier, passed.at, || self.clock.now().at);
        Ok(Answer::Passed(passed))
    }

    async fn ask(
        &self,
        rules: &Rules,
        asks: &Question<'_>,
        caller: &Caller,
        judged: (&Assessment, CallDigest, bool),
    ) -> Result<Answer, Rejection> {
        let (_, digest, crisis) = judged;
        if asks.group.is_none()
            && !asks.join.fresh
            && let Some(stored) = self.same_call(asks, caller, &digest).await?
        {
            return Ok(Answer::Kept(Box::new(stored)));
        }
        if let Some(answer) = self.by_grant(rules, asks, caller, judged).await? {
            return Ok(answer);
        }
        let session = asks.call.session.as_deref().unwrap_or_default();
        // Asked at the same moment, the second waits for the first and joins it.
        let turn = self.flood.turn(&caller.agent, session, &digest).await;
        // The same question that is open already is joined, not asked twice; but a batch keeps
        // its own, so that it can be waited for and answered as one.
        if let Some(open) = self.flood.same(&caller.agent, session, &digest)
            && asks.key.is_none()
            && asks.group.is_none()
            && !asks.join.fresh
            && let Some(stored) = self.store.request(open).await?
            && !stored.request.state.has_ended()
        {
            self.has_name(asks, caller, &stored);
            return Ok(Answer::Kept(Box::new(stored)));
        }
        // What was asked already is not asked once more, so no limit holds for it.
        if let Some(stored) = self.known(asks, caller, &digest).await? {
            return Ok(Answer::Kept(Box::new(stored)));
        }
        let now = self.clock.now().at;
        match self.flood.may_ask(&rules.flood, &caller.agent, crisis, now) {
            Ok(place) => {
                let kept = self.keep(rules, asks, caller, judged, None, Some(place)).await?;
                if let Answer::Kept(stored) = &kept {
                    self.has_name(asks, caller, stored);
                }
                Ok(kept)
            }
            Err(refused) => {
                // Told later the more are refused: a flood waits, and nobody waits for it.
                drop(turn);
                if !refused.wait.is_zero() {
                    tokio::time::sleep(refused.wait).await;
                }
                Err(refused.held)
            }
        }
    }

    /// The request that a person was asked about this very call, by the host's name for it or, for
    /// whoever comes back, because it was approved meanwhile and nobody has used that.
    async fn same_call(
        &self,
        asks: &Question<'_>,
        caller: &Caller,
        digest: &CallDigest,
    ) -> Result<Option<StoredRequest>, Rejection> {
        let Join { approved, call_id, .. } = asks.join;
        if let Some(call_id) = call_id
            && let Some(id) = self.joins.named(&caller.agent, call_id)
            && let Some(stored) = self.store.request(id).await?
            && (stored.request.digest.binds(digest) || was_written(&stored, digest))
        {
            return Ok(Some(stored));
        }
        let session = asks.call.session.as_deref().unwrap_or_default();
        if approved
            && let Some(id) = self.joins.approved(&caller.agent, session, digest)
            && let Some(stored) = self.store.request(id).await?
            && stored.request.state == State::Approved
            && stored.redeemed.is_none()
            && stored.permit_until.is_some_and(|until| self.clock.now().at < until)
            && stored.request.digest.binds(digest)
        {
            self.has_name(asks, caller, &stored);
            return Ok(Some(stored));
        }
        Ok(None)
    }

    fn has_name(&self, asks: &Question<'_>, caller: &Caller, stored: &StoredRequest) {
        if let Some(call_id) = asks.join.call_id {
            self.joins.name(&caller.agent, call_id, stored.request.id);
        }
    }

    /// The request that this agent asked with the same key for the same call.
    async fn known(
        &self,
        asks: &Question<'_>,
        caller: &Caller,
        digest: &CallDigest,
    ) -> Result<Option<StoredRequest>, Rejection> {
        let Some(key) = asks.key.clone() else { return Ok(None) };
        let requester = Requester::Agent(caller.agent.clone());
        let found = self.store.request_by_key(requester, key).await?;
        Ok(found.filter(|stored| stored.request.digest.binds(digest)))
    }

    /// What a standing permission makes of it, if one covers it. In a crisis none does, nor where
    /// a person must be asked anew.
    async fn by_grant(
        &self,
        rules: &Rules,
        asks: &Question<'_>,
        caller: &Caller,
        judged: (&Assessment, CallDigest, bool),
    ) -> Result<Option<Answer>, Rejection> {
        let (seen, digest, crisis) = judged;
        if crisis || asks.join.fresh {
            return Ok(None);
        }
        let asked = Asked {
            agent: &caller.agent,
            session: asks.call.session.as_deref().unwrap_or_default(),
            own_addresses: &caller.own_addresses,
            digest: &digest,
            arguments: &asks.call.arguments,
            assessment: seen,
            crisis,
        };
        // A grant may be used up by another call in between: then the next one is tried.
        for grant in self.grants.covering(&asked, self.clock.now()) {
            let settled = Some(Settled::Grant(grant));
            match self.keep(rules, asks, caller, judged, settled, None).await {
                Err(Rejection::Unavailable(StoreError::GrantInactive)) => self.grants.drop(grant),
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
    pub fn joins(&self) -> &Joins {
        &self.joins
    }

    /// Sessions in crisis.
    pub fn crises(&self) -> &Crises {
        &self.crises
    }

    /// Grants.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }
}

/// Whether this is the very call that a person wrote in place of the one that was asked about.
fn was_written(stored: &StoredRequest, digest: &CallDigest) -> bool {
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
fn entry_of(kind: Kind, rules: &Rules, asks: &Question<'_>, digest: &CallDigest) -> Entry<'static> {
    line_of(kind, rules, &asks.call, digest)
}

fn line_of(kind: Kind, rules: &Rules, call: &Call<'_>, digest: &CallDigest) -> Entry<'static> {
    let mut entry = Entry::new(0, kind, rules.hash);
    entry.agent = call.agent.clone().map(|agent| agent.into_owned().into());
    entry.session = call.session.clone().map(|session| session.into_owned().into());
    entry.digest = Some(digest.canonical);
    entry
}
