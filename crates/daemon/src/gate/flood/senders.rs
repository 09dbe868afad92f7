//! Senders of delegated tasks: one agent asks for all of them. A flood of one sender leaves room
//! for the others, and all of them together have no more room than one agent has.

use std::collections::HashMap;

use countersign_types::time::Timestamp;

use super::agent::{Agent, MINUTE, forget};
use crate::config::FloodConfig;
use crate::gate::Rejection;
use crate::gate::asking_agent::{identity_of, is_sender};

/// So many times the denials that quarantine one sender quarantine its agent: otherwise an agent
/// could name a new sender for each question.
const AGENT_FACTOR: u32 = 4;

/// Whether one more question of a sender fits beside those of the others.
pub(super) fn reserve(
    agents: &mut HashMap<String, Agent>,
    name: &str,
    limits: &FloodConfig,
    now: Timestamp,
) -> Result<(), (Rejection, &'static str)> {
    if !is_sender(name) {
        return Ok(());
    }
    let identity = identity_of(name);
    let quarantined = agents.get(identity).and_then(|agent| agent.quarantined);
    if let Some(until) = quarantined.filter(|&until| until > now) {
        return Err((Rejection::Quarantined(until), "quarantine"));
    }
    let (mut open, mut asked, mut own) = (0_u32, 0_u32, (0_u32, 0_u32));
    for (other, agent) in agents.iter_mut() {
        if !is_sender(other) || identity_of(other) != identity {
            continue;
        }
        forget(&mut agent.asked, now, MINUTE);
        let in_minute = u32::try_from(agent.asked.len()).unwrap_or(u32::MAX);
        open = open.saturating_add(agent.open);
        asked = asked.saturating_add(in_minute);
        if other == name {
            own = (agent.open, in_minute);
        }
    }
    if !has_room(limits.open_per_agent, open, own.0) {
        return Err((Rejection::TooManyQuestions(5), "open"));
    }
    if !has_room(limits.asks_per_minute, asked, own.1) {
        return Err((Rejection::TooManyQuestions(15), "minute"));
    }
    Ok(())
}

/// The last quarter of the room is for senders that have used little.
const fn has_room(limit: u32, used_by_all: u32, used: u32) -> bool {
    let small = if limit < 8 { 1 } else { limit / 8 };
    used_by_all < limit - limit / 4 || used_by_all < limit && used < small
}

/// Counts a denial against the agent of a sender; returns the quarantine that it causes, as the
/// agent and its end.
pub(super) fn record_denial(
    agents: &mut HashMap<String, Agent>,
    limits: &FloodConfig,
    name: &str,
    now: Timestamp,
) -> Option<(String, Timestamp)> {
    if !is_sender(name) {
        return None;
    }
    let identity = identity_of(name).to_owned();
    let agent = agents.entry(identity.clone()).or_default();
    forget(&mut agent.senders_denied, now, limits.within);
    agent.senders_denied.push_back(now);
    let most = limits.denials.saturating_mul(AGENT_FACTOR);
    if agent.senders_denied.len() < usize::try_from(most).unwrap_or(usize::MAX) {
        return None;
    }
    agent.senders_denied.clear();
    let until = now.plus(limits.quarantine);
    agent.quarantined = Some(until);
    Some((identity, until))
}
