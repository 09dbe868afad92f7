//! Keeps people from being flooded: open questions, questions per minute, quarantine.

mod agent;
mod pace;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_json::canonical::{CallDigest, Digest};
use countersign_store::StoredRequest;
use countersign_types::id::Id;
use countersign_types::time::{Span, Timestamp};

use super::Rejection;
use crate::config::Flood;
use agent::{Agent, HOUR, MINUTE, forget, remember, take_out};
use pace::Pace;

/// A crisis is let through, but not without end: so many of all.
const MOST_OPEN: usize = 20_000;
/// Agents remembered. Names are proven, but sockets of many users may come.
const MOST_AGENTS: usize = 10_000;
/// Ends that were heard before their beginning.
const MOST_EARLY: usize = 1_024;
/// Questions that are asked side by side; the same question always gets the same one.
const TURNS: usize = 64;

/// Counts what is asked and what was denied.
#[derive(Debug)]
pub struct FloodGate {
    counts: Mutex<Counts>,
    turns: Vec<tokio::sync::Mutex<()>>,
    spread: RandomState,
}

#[derive(Debug, Default)]
struct Counts {
    agents: HashMap<String, Agent>,
    asked: VecDeque<Timestamp>,
    open: HashMap<Id, Key>,
    same: HashMap<Key, Id>,
    early: VecDeque<(Id, bool)>,
    /// Of agents for which there is no place any more, all together.
    crowd: Pace,
}

/// Nobody is asked.
#[derive(Debug)]
pub struct Refused {
    /// What the agent is told.
    pub held: Rejection,
    /// How long to wait before it is told.
    pub wait: Duration,
}

/// What makes two questions the same one: agent, session, both digests.
type Key = (String, String, Digest, Digest);

/// What an agent was refused since it was last written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusals {
    /// Which agent.
    pub agent: String,
    /// How many questions.
    pub count: u32,
    /// Why the last one was.
    pub why: &'static str,
}

/// An agent that people said no to too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantine {
    /// Which agent.
    pub agent: String,
    /// Until when.
    pub until: Timestamp,
}

/// Room for one more question, kept until it is open or came to nothing. Dropping it gives the
/// room back, but the question counts as asked: who breaks off may have been heard.
#[derive(Debug)]
pub struct Place<'g> {
    gate: &'g FloodGate,
    agent: String,
    at: Timestamp,
}

impl Place<'_> {
    /// Nobody was asked: it was known already, or could not be kept.
    pub fn unused(self) {
        let mut counts = self.gate.lock();
        take_out(&mut counts.asked, self.at);
        if let Some(count) = counts.agents.get_mut(&self.agent) {
            take_out(&mut count.asked, self.at);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut counts = self.gate.lock();
        if let Some(count) = counts.agents.get_mut(&self.agent) {
            count.open = count.open.saturating_sub(1);
        }
    }
}

impl FloodGate {
    /// With the requests that are open already.
    pub fn new(pending: &[StoredRequest]) -> FloodGate {
        let turns = (0..TURNS).map(|_| tokio::sync::Mutex::default()).collect();
        let gate = FloodGate { counts: Mutex::default(), turns, spread: RandomState::new() };
        for stored in pending {
            gate.opened(&Flood::BOUNDLESS, stored, Timestamp(0));
        }
        gate
    }

    /// Waits until the same question is not being asked by somebody else at this moment.
    pub async fn turn(
        &self,
        agent: &str,
        session: &str,
        digest: &CallDigest,
    ) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let hash = self.spread.hash_one((agent, session, digest.canonical, digest.raw));
        let at = usize::try_from(hash % (TURNS as u64)).unwrap_or_default();
        Some(self.turns.get(at)?.lock().await)
    }

    /// The open request that asks the very same thing, if there is one.
    pub fn same(&self, agent: &str, session: &str, digest: &CallDigest) -> Option<Id> {
        let counts = self.lock();
        let key = (agent.to_owned(), session.to_owned(), digest.canonical, digest.raw);
        counts.same.get(&key).copied()
    }

    /// Whether a person may be asked once more. A crisis is let through as far as memory goes.
    pub fn may_ask(
        &self,
        limits: &Flood,
        agent: &str,
        crisis: bool,
        now: Timestamp,
    ) -> Result<Place<'_>, Refused> {
        let mut counts = self.lock();
        let Counts { agents, asked, open, crowd, .. } = &mut *counts;
        if agents.len() >= MOST_AGENTS && !agents.contains_key(agent) {
            agents.retain(|_, count| !count.is_idle(limits, now));
            if agents.len() >= MOST_AGENTS {
                let (held, wait) = (Rejection::TooManyQuestions(60), crowd.wait(now));
                return Err(Refused { held, wait });
            }
        }
        let count = agents.entry(agent.to_owned()).or_default();
        forget(&mut count.asked, now, MINUTE);
        forget(asked, now, HOUR);
        let full = open.len() >= MOST_OPEN;
        if let Err((held, why)) = count.may_ask(limits, asked, (crisis, full), now) {
            count.refused = count.refused.saturating_add(1);
            count.why = why;
            return Err(Refused { held, wait: count.pace.wait(now) });
        }
        count.open = count.open.saturating_add(1);
        remember(&mut count.asked, now, limits.asks_per_minute);
        remember(asked, now, limits.asks_per_hour);
        Ok(Place { gate: self, agent: agent.to_owned(), at: now })
    }

    /// A question is open now. Its end may have been heard before.
    pub fn opened(
        &self,
        limits: &Flood,
        stored: &StoredRequest,
        now: Timestamp,
    ) -> Option<Quarantine> {
        let mut counts = self.lock();
        let request = &stored.request;
        // Nobody asks a drill, so it counts against nobody.
        if request.requester.is_drill() {
            return None;
        }
        let agent = request.requester.name().to_owned();
        let digest = &request.digest;
        let key = (agent.clone(), stored.session.clone(), digest.canonical, digest.raw);
        if counts.open.insert(request.id, key.clone()).is_none() {
            let count = counts.agents.entry(agent).or_default();
            count.open = count.open.saturating_add(1);
        }
        counts.same.insert(key, request.id);
        let early = counts.early.iter().position(|(id, _)| *id == request.id);
        let (id, denied) = early.and_then(|early| counts.early.remove(early))?;
        counts.end(limits, id, denied, now)
    }

    /// Whether this question is counted as open.
    pub fn knows(&self, id: Id) -> bool {
        self.lock().open.contains_key(&id)
    }

    /// A question is over. Says so if that puts its agent in quarantine.
    pub fn ended(
        &self,
        limits: &Flood,
        id: Id,
        denied: bool,
        now: Timestamp,
    ) -> Option<Quarantine> {
        let mut counts = self.lock();
        if !counts.open.contains_key(&id) {
            if counts.early.len() >= MOST_EARLY {
                counts.early.pop_front();
            }
            counts.early.push_back((id, denied));
            return None;
        }
        counts.end(limits, id, denied, now)
    }

    /// Every question that is counted as open.
    pub fn all_open(&self) -> HashSet<Id> {
        self.lock().open.keys().copied().collect()
    }

    /// How many questions are open.
    pub fn open(&self) -> usize {
        self.lock().open.len()
    }

    /// Until when an agent may ask nothing, if so.
    pub fn quarantined(&self, agent: &str, now: Timestamp) -> Option<Timestamp> {
        let counts = self.lock();
        counts.agents.get(agent)?.quarantined.filter(|&until| until > now)
    }

    /// What was refused since the last time, each agent once.
    pub fn take_refusals(&self) -> Vec<Refusals> {
        let mut counts = self.lock();
        let refused = counts.agents.iter_mut().filter(|(_, count)| count.refused > 0);
        refused
            .map(|(agent, count)| {
                let refused = std::mem::take(&mut count.refused);
                Refusals { agent: agent.clone(), count: refused, why: count.why }
            })
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Told once for each end, however many say so.
    fn end(&mut self, limits: &Flood, id: Id, denied: bool, now: Timestamp) -> Option<Quarantine> {
        let key = self.open.remove(&id)?;
        if self.same.get(&key) == Some(&id) {
            self.same.remove(&key);
        }
        let count = self.agents.get_mut(&key.0)?;
        count.open = count.open.saturating_sub(1);
        if !denied {
            return None;
        }
        forget(&mut count.denied, now, limits.within);
        count.denied.push_back(now);
        if count.denied.len() < usize::try_from(limits.denials).unwrap_or(usize::MAX) {
            return None;
        }
        count.denied.clear();
        let until = now.plus(limits.quarantine);
        count.quarantined = Some(until);
        Some(Quarantine { agent: key.0, until })
    }
}

impl Flood {
    /// No limits: for what was let in before.
    const BOUNDLESS: Flood = Flood {
        open_per_agent: u32::MAX,
        asks_per_minute: u32::MAX,
        asks_per_hour: u32::MAX,
        denials: u32::MAX,
        within: Span(0),
        quarantine: Span(0),
    };
}
