//! Charges records to agents, and counts the calls that have no room.

use countersign_types::time::Timestamp;

use super::share::bounded_name;
use super::{Counts, FloodControl, FloodRefusal, MAX_AGENTS};
use crate::config::FloodConfig;
use crate::gate::Rejection;

impl FloodControl {
    /// Takes room on the disk for a record that no person asked for. A refusal is counted, and the
    /// ledger gets one entry for all of them.
    pub fn charge(
        &self,
        limits: &FloodConfig,
        agent: &str,
        bytes: u64,
        now: Timestamp,
    ) -> Result<(), FloodRefusal> {
        let mut counts = self.lock();
        let Counts { agents, disk, crowd, .. } = &mut *counts;
        let Err(seconds) = disk.charge(limits.disk_per_hour, agent, bytes, now) else {
            return Ok(());
        };
        let rejection = Rejection::DiskBudget(seconds);
        let name = bounded_name(agents, agent);
        if agents.len() >= MAX_AGENTS && !agents.contains_key(&name) {
            return Err(FloodRefusal { rejection, wait: crowd.wait(now) });
        }
        let count = agents.entry(name).or_default();
        count.refused = count.refused.saturating_add(1);
        count.why = "disk";
        Err(FloodRefusal { rejection, wait: count.pace.wait(now) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::agent::HOUR;
    use super::*;
    use crate::gate::ANONYMOUS;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);
    const KIB: u64 = 1024;

    /// How many records of one KiB an agent gets out of 2,000.
    fn records(gate: &FloodControl, agent: &str, now: Timestamp) -> usize {
        let limits = FloodConfig { disk_per_hour: 1000 * KIB, ..FloodConfig::UNLIMITED };
        (0..2_000).filter(|_| gate.charge(&limits, agent, KIB, now).is_ok()).count()
    }

    #[test]
    fn a_flood_of_passes_leaves_other_agents_their_share() {
        let gate = FloodControl::new(&[]);
        assert_eq!(records(&gate, "greedy", NOW), 1000);
        assert_eq!(records(&gate, "greedy", NOW), 0);
        assert_eq!(records(&gate, "honest", NOW), 500, "half of the total, because two write");
        assert_eq!(records(&gate, "third", NOW), 333);
        assert_eq!(records(&gate, ANONYMOUS, NOW), 100, "callers without a token are one agent");
        let labels: usize = (0..50).map(|n| records(&gate, &format!("kind{n}@uid:7"), NOW)).sum();
        assert!(labels <= 1000, "{labels}");
        assert!(records(&gate, "late", NOW) >= 100);
        let refused = gate.take_refusal_counts();
        assert!(refused.iter().all(|it| it.why == "disk"), "{refused:?}");
        assert!(refused.iter().any(|it| it.agent == "greedy" && it.count == 3000));
    }

    #[test]
    fn each_hour_has_its_budget_and_a_clock_set_back_refills_nothing() {
        let gate = FloodControl::new(&[]);
        assert_eq!(records(&gate, "a", NOW), 1000);
        assert_eq!(records(&gate, "a", Timestamp(NOW.0 - 7_200_000)), 0);
        assert_eq!(records(&gate, "a", NOW.plus(HOUR)), 1000);
    }
}
