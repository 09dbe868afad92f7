//! Agents in quarantine: listed, and let out by a person.

use countersign_types::time::Timestamp;

use super::share::bounded_name;
use super::{FloodControl, Quarantine};

impl FloodControl {
    /// The agents in quarantine, by name.
    pub fn quarantines(&self, now: Timestamp) -> Vec<Quarantine> {
        let counts = self.lock();
        let mut list: Vec<Quarantine> = counts
            .agents
            .iter()
            .filter_map(|(agent, count)| {
                let until = count.quarantined.filter(|&until| until > now)?;
                Some(Quarantine { agent: agent.clone(), until })
            })
            .collect();
        list.sort_by(|one, other| one.agent.cmp(&other.agent));
        list
    }

    /// Whether an agent is in quarantine.
    pub fn is_quarantined(&self, agent: &str, now: Timestamp) -> bool {
        let counts = self.lock();
        let count = counts.agents.get(&bounded_name(&counts.agents, agent));
        count.and_then(|count| count.quarantined).is_some_and(|until| until > now)
    }

    /// Continues a quarantine from before a restart.
    pub fn restore_quarantine(&self, quarantine: Quarantine) {
        let mut counts = self.lock();
        let count = counts.agents.entry(quarantine.agent).or_default();
        count.quarantined = count.quarantined.max(Some(quarantine.until));
    }

    /// Ends an agent's quarantine. Returns whether it was in one.
    pub fn lift_quarantine(&self, agent: &str, now: Timestamp) -> bool {
        let mut counts = self.lock();
        let Some(count) = counts.agents.get_mut(agent) else { return false };
        let was = count.quarantined.take_if(|until| *until > now);
        was.is_some()
    }
}
