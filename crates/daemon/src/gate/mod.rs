//! The gate: the one path a call takes, from the agent's question to what it may do.
//!
//! submit → assess → route → grants → flood → persist → (courier announces) → wait → decide →
//! persist → permit → outcome. Whatever fails on the way ends in [`Held`]: the call does not run.

mod answer;
mod crisis;
mod flood;
mod grants;
mod refusals;
mod whitelist;

#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use countersign_core::assess::{Assessment, assess};
use countersign_core::call::Call;
use countersign_core::canon::{CallDigest, digest};
use countersign_core::card::Card;
use countersign_core::context::Environment;
use countersign_core::grant::Asked;
use countersign_core::id::Id;
use countersign_core::ledger::entry::{Entry, Kind};
use countersign_core::request::{Change, Event, Request, Requester, Settled, Terms};
use countersign_core::route::{Pass, Route, Standing, route};
use countersign_core::time::{Clock, Span};
use countersign_store::{Applied, Backend, NewRequest, Note, Redeemed, Store, StoreError};
use countersign_store::{Stored, Submitted};

use crate::chance;
use crate::clock::DaemonClock;
use crate::config::Rules;
use crate::metrics::Metrics;

use flood::Place;

pub use answer::{Answer, Held, Passed, Settling};
pub use crisis::Crises;
pub use flood::FloodGate;
pub use grants::{Grants, WHITELIST};

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
    /// What the surface that asked needs again, as JSON; free of secrets. Made only if it is kept:
    /// most calls pass, and nothing of them is.
    pub detail: &'a (dyn Fn() -> String + Sync),
}

/// The gate.
pub struct Gate {
    store: Arc<Backend>,
    clock: Arc<DaemonClock>,
    rules: RwLock<Arc<Rules>>,
    crises: Crises,
    grants: Grants,
    flood: FloodGate,
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
        let flood = FloodGate::new(&store.pending().await?);
        let rules = RwLock::new(Arc::new(rules));
        Ok(Gate { store, clock, rules, crises, grants, flood, metrics: Metrics::default() })
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
    pub fn assess(&self, call: &mut Call<'_>, caller: &Caller) -> (Assessment, Route) {
        let rules = self.rules();
        self.judge(&rules, call, caller)
    }

    fn judge(&self, rules: &Rules, call: &mut Call<'_>, caller: &Caller) -> (Assessment, Route) {
        // Who asks is who proved it; where it runs may only be claimed for the worse.
        call.agent = Some(caller.agent.clone().into());
        if call.context.environment != Environment::Production {
            call.context.environment = rules.environment;
        }
        let seen = assess(call, &rules.judgement);
        let crisis = self.crises.holds(&caller.agent, call.session.as_deref());
        let goes = route(&seen, Standing { mode: rules.mode, crisis });
        (seen, goes)
    }

    /// The one path: from a question to an answer, or to a request that waits for one.
    pub async fn submit(&self, asks: Question<'_>, caller: &Caller) -> Result<Answer, Held> {
        let answer = self.answer(asks, caller).await;
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

    async fn answer(&self, mut asks: Question<'_>, caller: &Caller) -> Result<Answer, Held> {
        let rules = self.rules();
        let (seen, goes) = self.judge(&rules, &mut asks.call, caller);
        self.metrics.call(&goes, seen.tier, &caller.agent, self.clock.now().at);
        let digest = digest(&asks.call, asks.raw);
        let needs_row = asks.permit || asks.key.is_some();
        match goes {
            Route::Pass { why } if !needs_row => self.pass(&rules, &asks, seen, digest, why).await,
            Route::Pass { .. } => {
                let settled = Some(Settled::Policy);
                self.keep(&rules, &asks, caller, (&seen, digest, false), settled, None).await
            }
            Route::Refuse => Err(self.refuse(&rules, &asks, &seen, digest).await),
            Route::Ask { crisis } => self.ask(&rules, &asks, caller, (&seen, digest, crisis)).await,
        }
    }

    /// The same path as far as it goes without a person: nobody is asked.
    pub async fn settle(&self, mut asks: Question<'_>, caller: &Caller) -> Result<Settling, Held> {
        let rules = self.rules();
        let (seen, goes) = self.judge(&rules, &mut asks.call, caller);
        let digest = digest(&asks.call, asks.raw);
        match goes {
            Route::Pass { why } => {
                self.pass(&rules, &asks, seen, digest, why).await.map(Settling::Answered)
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
    ) -> Held {
        let mut entry = entry_of(Kind::Deny, rules, asks, &digest);
        entry.facts = answer::pass_facts(seen, Pass::Harmless);
        self.store.append(vec![entry]).await.map_or_else(Held::from, |()| Held::Refused)
    }

    /// Nobody has to be asked: written down with the next commit.
    async fn pass(
        &self,
        rules: &Rules,
        asks: &Question<'_>,
        seen: Assessment,
        digest: CallDigest,
        why: Pass,
    ) -> Result<Answer, Held> {
        let mut entry = entry_of(Kind::Pass, rules, asks, &digest);
        entry.facts = answer::pass_facts(&seen, why);
        let from = self.clock.now().at;
        self.store.pass(entry).await?;
        let agent = asks.call.agent.as_deref().unwrap_or_default();
        self.metrics.passed(&seen.tool, agent, seen.tier, from, self.clock.now().at);
        Ok(Answer::Passed(Box::new(Passed { assessment: seen, digest, why })))
    }

    async fn ask(
        &self,
        rules: &Rules,
        asks: &Question<'_>,
        caller: &Caller,
        judged: (&Assessment, CallDigest, bool),
    ) -> Result<Answer, Held> {
        let (_, digest, crisis) = judged;
        if let Some(answer) = self.by_grant(rules, asks, caller, judged).await? {
            return Ok(answer);
        }
        let session = asks.call.session.as_deref().unwrap_or_default();
        // Asked at the same moment, the second waits for the first and joins it.
        let _turn = self.flood.turn(&caller.agent, session, &digest).await;
        // The same question that is open already is joined, not asked twice; but a batch keeps
        // its own, so that it can be waited for and answered as one.
        if let Some(open) = self.flood.same(&caller.agent, session, &digest)
            && asks.key.is_none()
            && asks.group.is_none()
            && let Some(stored) = self.store.request(open).await?
            && !stored.request.state.has_ended()
        {
            return Ok(Answer::Kept(Box::new(stored)));
        }
        // What was asked already is not asked once more, so no limit holds for it.
        if let Some(stored) = self.known(asks, caller, &digest).await? {
            return Ok(Answer::Kept(Box::new(stored)));
        }
        let now = self.clock.now().at;
        let place = self.flood.may_ask(&rules.flood, &caller.agent, crisis, now)?;
        self.keep(rules, asks, caller, judged, None, Some(place)).await
    }

    /// The request that this agent asked with the same key for the same call.
    async fn known(
        &self,
        asks: &Question<'_>,
        caller: &Caller,
        digest: &CallDigest,
    ) -> Result<Option<Stored>, Held> {
        let Some(key) = asks.key.clone() else { return Ok(None) };
        let requester = Requester::Agent(caller.agent.clone());
        let found = self.store.known(requester, key).await?;
        Ok(found.filter(|stored| stored.request.digest.binds(digest)))
    }

    /// What a standing permission makes of it, if one covers it. In a crisis none does.
    async fn by_grant(
        &self,
        rules: &Rules,
        asks: &Question<'_>,
        caller: &Caller,
        judged: (&Assessment, CallDigest, bool),
    ) -> Result<Option<Answer>, Held> {
        let (seen, digest, crisis) = judged;
        if crisis {
            return Ok(None);
        }
        let asked = Asked {
            agent: &caller.agent,
            session: asks.call.session.as_deref().unwrap_or_default(),
            own_addresses: &caller.own_addresses,
            digest: &digest,
            assessment: seen,
            crisis,
        };
        // A grant may be used up by another call in between: then the next one is tried.
        for grant in self.grants.covering(&asked, self.clock.now()) {
            let settled = Some(Settled::Grant(grant));
            match self.keep(rules, asks, caller, judged, settled, None).await {
                Err(Held::Unavailable(StoreError::GrantOver)) => self.grants.drop(grant),
                kept => return kept.map(Some),
            }
        }
        Ok(None)
    }

    /// Makes it durable: pending, or settled by the judgement or a grant.
    async fn keep(
        &self,
        rules: &Rules,
        asks: &Question<'_>,
        caller: &Caller,
        judged: (&Assessment, CallDigest, bool),
        settled: Option<Settled>,
        place: Option<Place<'_>>,
    ) -> Result<Answer, Held> {
        let (seen, digest, crisis) = judged;
        let now = self.clock.now();
        if settled.is_some() && !now.settled {
            return Err(Held::ClockUnsettled);
        }
        let terms = Terms { tier: seen.tier, crisis, quorum: rules.quorum.of(seen.tier, crisis) };
        let plan = rules.times.plan(now.at, seen.tier, crisis, asks.time);
        let id = chance::id(now.at).map_err(|_| Held::NoChance)?;
        let requester = Requester::Agent(caller.agent.clone());
        let mut request = Request::new(id, requester, digest, terms, plan);
        if let Some(settled) = settled {
            request = request.settled(settled, now.at);
            if let (Settled::Grant(id), Some(decision)) = (settled, &mut request.decision) {
                decision.reason = self.grants.name(id).unwrap_or_default();
            }
        }
        let card = Card::new(&asks.call, seen, &digest);
        let written = |card: &Card| serde_json::to_string(card).map_err(|_| Held::Unwritable);
        // In a crisis a person must see what they approve, but nothing of it stays afterwards.
        let minimal = crisis.then(|| written(&Card::minimal(&asks.call, seen, &digest)));
        let detail = (asks.detail)();
        let detail = if crisis { answer::without_words(&detail) } else { detail };
        let new = NewRequest {
            request,
            // As on the card: a tool's name can hold a secret, too.
            tool: card.tool.clone(),
            session: asks.call.session.as_deref().unwrap_or_default().to_owned(),
            brief: card.brief.clone(),
            card: written(&card)?,
            card_after: minimal.transpose()?,
            detail,
            idempotency: asks.key.clone(),
            group: asks.group,
            permit_for: rules.permit_for,
            note: Note { policy: rules.hash, facts: Some(answer::facts(seen)), edited: None },
        };
        let started = std::time::Instant::now();
        let submitted = self.store.submit(new).await;
        self.metrics.wrote(started.elapsed());
        match submitted {
            Ok(Submitted::New(stored)) => {
                if stored.request.state.has_ended() {
                    self.metrics.ended(&stored);
                } else {
                    self.opened(&stored).await;
                }
                Ok(Answer::Kept(Box::new(stored)))
            }
            known_or_failed => {
                place.into_iter().for_each(Place::unused);
                match known_or_failed? {
                    Submitted::New(stored) | Submitted::Known(stored) => {
                        Ok(Answer::Kept(Box::new(stored)))
                    }
                }
            }
        }
    }

    /// Waits for the end of a request, at most so long. The request as it then stands.
    pub async fn wait(&self, id: Id, at_most: Duration) -> Result<Stored, Held> {
        match tokio::time::timeout(at_most, self.store.ended(id)).await {
            Ok(ended) => Ok(ended?),
            Err(_) => self.store.request(id).await?.ok_or(Held::NoSuchRequest),
        }
    }

    /// A person answers.
    pub async fn decide(&self, id: Id, event: Event, note: Note) -> Result<Applied, StoreError> {
        let applied = self.store.apply(id, event, note).await?;
        let state = applied.stored.request.state;
        if state.has_ended() {
            if matches!(applied.change, Change::Ended(_)) {
                self.metrics.ended(&applied.stored);
            }
            self.has_ended(id, state).await;
        }
        Ok(applied)
    }

    /// Time passes for a request: it may climb or expire.
    pub async fn pass_time(&self, id: Id) -> Result<Applied, StoreError> {
        let note = Note { policy: self.rules().hash, facts: None, edited: None };
        self.decide(id, Event::Time, note).await
    }

    /// The agent takes its request back.
    pub async fn cancel(&self, id: Id, caller: &Caller) -> Result<Applied, StoreError> {
        let note = Note { policy: self.rules().hash, facts: None, edited: None };
        let by = Requester::Agent(caller.agent.clone());
        self.decide(id, Event::Cancel { by }, note).await
    }

    /// An executor uses a permit.
    pub async fn redeem(
        &self,
        id: Id,
        agent: String,
        digest: CallDigest,
    ) -> Result<Redeemed, StoreError> {
        let note = Note { policy: self.rules().hash, facts: None, edited: None };
        // A clock that went back could make a late permit look timely.
        if !self.clock.now().settled {
            return Ok(Redeemed::Late);
        }
        // What was approved before a crisis was not approved in it.
        if let Some(stored) = self.store.request(id).await?
            && !stored.request.crisis
            && self.crises.holds(&agent, Some(&stored.session))
        {
            return Ok(Redeemed::Late);
        }
        self.store.redeem(id, agent, digest, note).await
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

    /// Sessions in crisis.
    pub fn crises(&self) -> &Crises {
        &self.crises
    }

    /// Grants.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }
}

/// A line about a call that is not kept as a request: who, where and which, no words of it.
fn entry_of(kind: Kind, rules: &Rules, asks: &Question<'_>, digest: &CallDigest) -> Entry<'static> {
    let mut entry = Entry::new(0, kind, rules.hash);
    entry.agent = asks.call.agent.clone().map(|agent| agent.into_owned().into());
    entry.session = asks.call.session.clone().map(|session| session.into_owned().into());
    entry.digest = Some(digest.canonical);
    entry
}
