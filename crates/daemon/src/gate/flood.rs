//! Keeps people from being flooded: open questions, questions per minute, quarantine.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use countersign_core::canon::{CallDigest, Digest};
use countersign_core::id::Id;
use countersign_core::time::{Span, Timestamp};
use countersign_store::Stored;

use super::Held;
use crate::config::Flood;

const MINUTE: Span = Span::seconds(60);
const HOUR: Span = Span::seconds(3600);

/// Counts what is asked and what was denied.
#[derive(Debug, Default)]
pub struct FloodGate {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    agents: HashMap<String, Agent>,
    asked: VecDeque<Timestamp>,
    open: HashMap<Id, Key>,
    same: HashMap<Key, Id>,
}

/// What makes two questions the same one.
type Key = (String, String, Digest, Digest);

#[derive(Debug, Default)]
struct Agent {
    open: u32,
    asked: VecDeque<Timestamp>,
    denied: VecDeque<Timestamp>,
    quarantined: Option<Timestamp>,
}

impl FloodGate {
    /// With the requests that are open already.
    pub fn new(pending: Vec<Stored>) -> FloodGate {
        let gate = FloodGate::default();
        for stored in &pending {
            gate.opened(stored);
        }
        gate
    }

    /// The open request that asks the very same thing, if there is one.
    pub fn same(&self, agent: &str, session: &str, digest: &CallDigest) -> Option<Id> {
        let counts = self.lock();
        let key = (agent.to_owned(), session.to_owned(), digest.canonical, digest.raw);
        counts.same.get(&key).copied()
    }

    /// Whether a person may be asked once more. A crisis is always let through.
    pub fn may_ask(
        &self,
        limits: &Flood,
        agent: &str,
        crisis: bool,
        now: Timestamp,
    ) -> Result<(), Held> {
        let mut counts = self.lock();
        let Counts { agents, asked, .. } = &mut *counts;
        let count = agents.entry(agent.to_owned()).or_default();
        if !crisis {
            if let Some(until) = count.quarantined.filter(|&until| until > now) {
                return Err(Held::Quarantined(until));
            }
            count.quarantined = None;
            forget(&mut count.asked, now, MINUTE);
            forget(asked, now, HOUR);
            if count.open >= limits.open_per_agent {
                return Err(Held::TooManyQuestions(5));
            }
            full(&count.asked, limits.asks_per_minute, now, MINUTE)?;
            full(asked, limits.asks_per_hour, now, HOUR)?;
        }
        count.asked.push_back(now);
        asked.push_back(now);
        Ok(())
    }

    /// A question is open now.
    pub fn opened(&self, stored: &Stored) {
        let mut counts = self.lock();
        let request = &stored.request;
        let agent = request.requester.name().to_owned();
        let digest = &request.digest;
        let key = (agent.clone(), stored.session.clone(), digest.canonical, digest.raw);
        if counts.open.insert(request.id, key.clone()).is_none() {
            let count = counts.agents.entry(agent).or_default();
            count.open = count.open.saturating_add(1);
        }
        counts.same.insert(key, request.id);
    }

    /// A question is over.
    pub fn ended(&self, limits: &Flood, stored: &Stored, denied: bool, now: Timestamp) {
        let mut counts = self.lock();
        let id = stored.request.id;
        // Told once for each end, however many say so.
        let Some(key) = counts.open.remove(&id) else { return };
        if counts.same.get(&key) == Some(&id) {
            counts.same.remove(&key);
        }
        let Some(count) = counts.agents.get_mut(&key.0) else { return };
        count.open = count.open.saturating_sub(1);
        if denied {
            forget(&mut count.denied, now, limits.within);
            count.denied.push_back(now);
            if count.denied.len() >= usize::try_from(limits.denials).unwrap_or(usize::MAX) {
                count.denied.clear();
                count.quarantined = Some(now.plus(limits.quarantine));
            }
        }
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes out what is longer ago than `span`.
fn forget(times: &mut VecDeque<Timestamp>, now: Timestamp, span: Span) {
    while times.front().is_some_and(|&oldest| oldest.plus(span) <= now) {
        times.pop_front();
    }
}

fn full(times: &VecDeque<Timestamp>, most: u32, now: Timestamp, span: Span) -> Result<(), Held> {
    if times.len() < usize::try_from(most).unwrap_or(usize::MAX) {
        return Ok(());
    }
    let free = times.front().map_or(now, |&oldest| oldest.plus(span));
    let seconds = now.until(free).0.div_ceil(1000);
    Err(Held::TooManyQuestions(u32::try_from(seconds).unwrap_or(u32::MAX)))
}
