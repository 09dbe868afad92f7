//! How much of the disk calls may use without a person: a pass and a refusal leave a record each.
//!
//! The total per hour is shared as the questions are. An agent may use what is left of the total;
//! if it is used up, each agent still has its fair share. A call without room is refused before it
//! runs, so no call passes without its record.

use std::collections::{HashMap, HashSet};

use countersign_types::time::Timestamp;

use super::agent::HOUR;
use super::share::bounded_name;
use crate::gate::asking_agent::{ANONYMOUS, identity_of};

/// The maximum number of tracked agents.
const MAX_AGENTS: usize = 10_000;

/// The bytes that calls used in one hour.
#[derive(Debug, Default)]
pub(super) struct DiskHour {
    /// The hour, counted from 1970.
    number: i64,
    total: u64,
    agents: HashMap<String, u64>,
}

impl DiskHour {
    /// Adds bytes of an agent, or says in how many seconds there is room again.
    pub fn charge(
        &mut self,
        limit: u64,
        name: &str,
        bytes: u64,
        now: Timestamp,
    ) -> Result<(), u32> {
        let hour = i64::try_from(HOUR.0).unwrap_or(i64::MAX);
        let number = now.0.div_euclid(hour);
        // A clock that is set back refills nothing.
        if number > self.number {
            *self = DiskHour { number, ..DiskHour::default() };
        }
        let rest = (hour - now.0.rem_euclid(hour)) / 1000 + 1;
        let wait = u32::try_from(rest).unwrap_or(u32::MAX);
        let name = bounded_name(&self.agents, name);
        if self.agents.len() >= MAX_AGENTS && !self.agents.contains_key(&name) {
            return Err(wait);
        }
        let used = self.agents.get(&name).copied().unwrap_or_default().saturating_add(bytes);
        let is_anonymous = identity_of(&name) == ANONYMOUS;
        let most = if is_anonymous { limit / 10 } else { limit };
        let fits = used <= most && self.total.saturating_add(bytes) <= limit;
        if !fits && used > self.share(limit, &name).min(most) {
            return Err(wait);
        }
        self.total = self.total.saturating_add(bytes);
        self.agents.insert(name, used);
        Ok(())
    }

    /// What an agent may use even if the total is used up: the total divided among the identities,
    /// and the part of each identity among its labels.
    fn share(&self, limit: u64, name: &str) -> u64 {
        let own = identity_of(name);
        let (mut identities, mut labels) = (HashSet::from([own]), 1_u64);
        for other in self.agents.keys().filter(|other| *other != name) {
            labels += u64::from(identity_of(other) == own);
            identities.insert(identity_of(other));
        }
        limit / (identities.len() as u64 * labels).max(1)
    }
}
