//! Limits that protect people from floods: pending requests, requests per minute, quarantine.

mod agent;
mod charge;
mod disk;
mod pace;
mod quarantine;
mod senders;
mod share;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_json::canonical::{CallDigest, Digest};
use countersign_store::StoredRequest;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;

use super::Rejection;
use super::asking_agent::counted_for;
use crate::config::FloodConfig;
use agent::{Agent, HOUR, MINUTE, forget, remember, take_out};
use disk::DiskHour;
use pace::Pace;
use share::{bounded_name, share};

/// The maximum number of pending requests in a crisis, of all agents.
const MAX_OPEN: usize = 20_000;
/// The maximum number of tracked agents. Names are authenticated, but many users may have a socket.
const MAX_AGENTS: usize = 10_000;
/// The maximum number of ends that arrived before their beginning.
const MAX_EARLY_ENDS: usize = 1_024;
/// The number of locks for concurrent submissions; the same call always uses the same one.
const LOCKS: usize = 64;

/// Counts requests and denials.
#[derive(Debug)]
pub struct FloodControl {
    counts: Mutex<Counts>,
    locks: Vec<tokio::sync::Mutex<()>>,
    spread: RandomState,
}

#[derive(Debug, Default)]
struct Counts {
    agents: HashMap<String, Agent>,
    asked: VecDeque<Timestamp>,
    /// The call of each pending request, and the name under which its agent is counted.
    open: HashMap<Id, (Key, String)>,
    same: HashMap<Key, Id>,
    early: VecDeque<(Id, bool)>,
    /// The total of all agents that are not tracked separately.
    crowd: Pace,
    /// What passes and refusals wrote in this hour.
    disk: DiskHour,
}

/// A request rejected by a limit.
#[derive(Debug)]
pub struct FloodRefusal {
    /// The rejection for the agent.
    pub rejection: Rejection,
    /// How long to delay the response.
    pub wait: Duration,
}

/// What identifies the same call: agent, session, both digests.
type Key = (String, String, Digest, Digest);

/// The rejected requests of an agent since the last ledger entry about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalCount {
    /// The agent.
    pub agent: String,
    /// The number of requests.
    pub count: u32,
    /// Why the last one was rejected.
    pub why: &'static str,
}

/// An agent whose requests were denied too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantine {
    /// The agent.
    pub agent: String,
    /// The end of the quarantine.
    pub until: Timestamp,
}

/// A reservation for one more request. Dropping it releases the reservation, but the request still
/// counts against the rate: people may have been notified.
#[derive(Debug)]
pub struct AskSlot<'g> {
    gate: &'g FloodControl,
    agent: String,
    at: Timestamp,
}

impl AskSlot<'_> {
    /// Releases it without counting: the request existed already, or could not be stored.
    pub fn unused(self) {
        let mut counts = self.gate.lock();
        take_out(&mut counts.asked, self.at);
        if let Some(count) = counts.agents.get_mut(&self.agent) {
            take_out(&mut count.asked, self.at);
            take_out(&mut count.asked_in_hour, self.at);
        }
    }
}

impl Drop for AskSlot<'_> {
    fn drop(&mut self) {
        let mut counts = self.gate.lock();
        if let Some(count) = counts.agents.get_mut(&self.agent) {
            count.open = count.open.saturating_sub(1);
        }
    }
}

impl FloodControl {
    /// Starts with the pending requests.
    pub fn new(pending: &[StoredRequest]) -> FloodControl {
        let locks = (0..LOCKS).map(|_| tokio::sync::Mutex::default()).collect();
        let gate = FloodControl { counts: Mutex::default(), locks, spread: RandomState::new() };
        for stored in pending {
            gate.record_open(&FloodConfig::UNLIMITED, stored, Timestamp(0));
        }
        gate
    }

    /// Waits until no other submission of the same call is in progress.
    pub async fn lock_question(
        &self,
        agent: &str,
        session: &str,
        digest: &CallDigest,
    ) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let hash = self.spread.hash_one((agent, session, digest.canonical, digest.raw));
        let at = usize::try_from(hash % (LOCKS as u64)).unwrap_or_default();
        Some(self.locks.get(at)?.lock().await)
    }

    /// The pending request for the same call, if there is one.
    pub fn same(&self, agent: &str, session: &str, digest: &CallDigest) -> Option<Id> {
        let counts = self.lock();
        let key = (agent.to_owned(), session.to_owned(), digest.canonical, digest.raw);
        counts.same.get(&key).copied()
    }

    /// Reserves one more request. In a crisis only the limits of memory apply.
    pub fn reserve(
        &self,
        limits: &FloodConfig,
        agent: &str,
        crisis: bool,
        now: Timestamp,
    ) -> Result<AskSlot<'_>, FloodRefusal> {
        let mut counts = self.lock();
        let Counts { agents, asked, open, crowd, .. } = &mut *counts;
        let agent = &bounded_name(agents, agent);
        if agents.len() >= MAX_AGENTS && !agents.contains_key(agent) {
            agents.retain(|_, count| !count.is_idle(limits, now));
            if agents.len() >= MAX_AGENTS {
                let (rejection, wait) = (Rejection::TooManyQuestions(60), crowd.wait(now));
                return Err(FloodRefusal { rejection, wait });
            }
        }
        forget(asked, now, HOUR);
        let is_used_up = asked.len() >= usize::try_from(limits.asks_per_hour).unwrap_or(usize::MAX);
        let hourly = if is_used_up {
            share(agents, agent, limits.asks_per_hour, now)
        } else {
            share::most_per_hour(agent, limits.asks_per_hour)
        };
        let among_senders =
            if crisis { Ok(()) } else { senders::reserve(agents, agent, limits, now) };
        let count = agents.entry(agent.to_owned()).or_default();
        forget(&mut count.asked, now, MINUTE);
        forget(&mut count.asked_in_hour, now, HOUR);
        let full = open.len() >= MAX_OPEN;
        let reserved =
            among_senders.and_then(|()| count.reserve(limits, hourly, (crisis, full), now));
        if let Err((rejection, why)) = reserved {
            count.refused = count.refused.saturating_add(1);
            count.why = why;
            return Err(FloodRefusal { rejection, wait: count.pace.wait(now) });
        }
        count.open = count.open.saturating_add(1);
        remember(&mut count.asked, now, limits.asks_per_minute);
        remember(&mut count.asked_in_hour, now, limits.asks_per_hour);
        remember(asked, now, limits.asks_per_hour);
        Ok(AskSlot { gate: self, agent: agent.to_owned(), at: now })
    }

    /// Counts a pending request. Its end may have arrived before.
    pub fn record_open(
        &self,
        limits: &FloodConfig,
        stored: &StoredRequest,
        now: Timestamp,
    ) -> Option<Quarantine> {
        let mut counts = self.lock();
        let request = &stored.request;
        // A drill belongs to no agent, so it counts against none.
        if request.requester.is_drill() {
            return None;
        }
        let counted = bounded_name(&counts.agents, &counted_for(stored));
        let (agent, digest) = (request.requester.name().to_owned(), &request.digest);
        let key = (agent, stored.session.clone(), digest.canonical, digest.raw);
        if counts.open.insert(request.id, (key.clone(), counted.clone())).is_none() {
            let count = counts.agents.entry(counted).or_default();
            count.open = count.open.saturating_add(1);
        }
        counts.same.insert(key, request.id);
        let early = counts.early.iter().position(|(id, _)| *id == request.id);
        let (id, denied) = early.and_then(|early| counts.early.remove(early))?;
        counts.end(limits, id, denied, now)
    }

    /// Whether this request is counted as pending.
    pub fn knows(&self, id: Id) -> bool {
        self.lock().open.contains_key(&id)
    }

    /// Counts the end of a request. Returns the quarantine that it causes, if any.
    pub fn record_end(
        &self,
        limits: &FloodConfig,
        id: Id,
        denied: bool,
        now: Timestamp,
    ) -> Option<Quarantine> {
        let mut counts = self.lock();
        if !counts.open.contains_key(&id) {
            if counts.early.len() >= MAX_EARLY_ENDS {
                counts.early.pop_front();
            }
            counts.early.push_back((id, denied));
            return None;
        }
        counts.end(limits, id, denied, now)
    }

    /// Every request that is counted as pending.
    pub fn all_open(&self) -> HashSet<Id> {
        self.lock().open.keys().copied().collect()
    }

    /// The number of pending requests.
    pub fn open(&self) -> usize {
        self.lock().open.len()
    }

    /// The rejections since the last call, one per agent.
    pub fn take_refusal_counts(&self) -> Vec<RefusalCount> {
        let mut counts = self.lock();
        let refused = counts.agents.iter_mut().filter(|(_, count)| count.refused > 0);
        refused
            .map(|(agent, count)| {
                let refused = std::mem::take(&mut count.refused);
                RefusalCount { agent: agent.clone(), count: refused, why: count.why }
            })
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Reported once for each end.
    fn end(
        &mut self,
        limits: &FloodConfig,
        id: Id,
        denied: bool,
        now: Timestamp,
    ) -> Option<Quarantine> {
        let (key, counted) = self.open.remove(&id)?;
        if self.same.get(&key) == Some(&id) {
            self.same.remove(&key);
        }
        let count = self.agents.get_mut(&counted)?;
        count.open = count.open.saturating_sub(1);
        if !denied {
            return None;
        }
        let whole = senders::record_denial(&mut self.agents, limits, &counted, now);
        if let Some((agent, until)) = whole {
            return Some(Quarantine { agent, until });
        }
        let count = self.agents.get_mut(&counted)?;
        forget(&mut count.denied, now, limits.within);
        count.denied.push_back(now);
        if count.denied.len() < usize::try_from(limits.denials).unwrap_or(usize::MAX) {
            return None;
        }
        count.denied.clear();
        let until = now.plus(limits.quarantine);
        count.quarantined = Some(until);
        Some(Quarantine { agent: counted, until })
    }
}
