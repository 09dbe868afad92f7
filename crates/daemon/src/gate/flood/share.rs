//! Fair shares of the questions per hour: one agent's flood takes nothing of another's share.

use std::collections::{HashMap, HashSet};

use countersign_types::time::Timestamp;

use super::agent::{Agent, HOUR, forget};
use crate::gate::asking_agent::{ANONYMOUS, identity_of, is_sender};

/// The most labels that one identity may count under; further ones share a name.
const MAX_LABELS: usize = 8;
/// The most senders of delegated tasks that one agent may ask for under their own names.
const MAX_SENDERS: usize = 64;
/// The name that the labels above the maximum share.
const OTHER: &str = "other";
/// The same for senders; no sender has a name like this.
const OTHER_SENDER: &str = "a2a:*";

/// The name under which this one counts: labels are claims, so an identity has only a few.
pub(super) fn bounded_name<V>(agents: &HashMap<String, V>, name: &str) -> String {
    let identity = identity_of(name);
    if agents.contains_key(name) || identity == name {
        return name.to_owned();
    }
    let is_same_kind = |key: &&String| {
        *key != identity && identity_of(key) == identity && is_sender(key) == is_sender(name)
    };
    let labels = agents.keys().filter(is_same_kind).count();
    match (is_sender(name), labels) {
        (false, 0..MAX_LABELS) | (true, 0..MAX_SENDERS) => name.to_owned(),
        (false, _) => format!("{OTHER}@{identity}"),
        (true, _) => format!("{OTHER_SENDER}@{identity}"),
    }
}

/// The most questions per hour of one agent: all that are left, but only a tenth of the total for
/// callers without a token, who count as one agent.
pub(super) fn most_per_hour(name: &str, total: u32) -> u32 {
    if identity_of(name) == ANONYMOUS { (total / 10).max(1) } else { total }
}

/// The share of an agent that it has even if the total is used up: the total, divided among the
/// identities that asked in the last hour, and each identity's part among its labels.
pub(super) fn share(
    agents: &mut HashMap<String, Agent>,
    name: &str,
    total: u32,
    now: Timestamp,
) -> u32 {
    let own = identity_of(name);
    let (mut identities, mut labels) = (HashSet::from([own.to_owned()]), 1_u32);
    for (other, agent) in agents.iter_mut().filter(|(other, _)| *other != name) {
        forget(&mut agent.asked_in_hour, now, HOUR);
        if agent.asked_in_hour.is_empty() {
            continue;
        }
        labels = labels.saturating_add(u32::from(identity_of(other) == own));
        identities.insert(identity_of(other).to_owned());
    }
    let count = u32::try_from(identities.len()).unwrap_or(u32::MAX);
    let part = total.checked_div(count.saturating_mul(labels)).unwrap_or_default();
    part.max(1).min(most_per_hour(name, total))
}
