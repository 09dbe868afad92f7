//! How the judge answered one agent: an agent that tries out what passes is left to people.

use std::collections::VecDeque;

use countersign_types::time::{Millis, Timestamp};

use crate::reply::ModelVerdict;

/// Denials in a row, or among the last verdicts, that end an agent's releases for a while.
const IN_A_ROW: u32 = 3;
const AMONG_LAST: usize = 10;
const LAST: usize = 50;
/// For how long.
const PAUSE: Millis = Millis(30 * 60_000);

/// The newest verdicts about one agent.
#[derive(Debug, Clone, Default)]
pub struct AgentVerdicts {
    recent: VecDeque<bool>,
    in_a_row: u32,
    paused_until: Option<Timestamp>,
}

impl AgentVerdicts {
    /// Notes a verdict.
    pub fn note(&mut self, verdict: ModelVerdict, now: Timestamp) {
        let denied = verdict == ModelVerdict::Deny;
        self.in_a_row = if denied { self.in_a_row + 1 } else { 0 };
        if self.recent.len() >= LAST {
            self.recent.pop_front();
        }
        self.recent.push_back(denied);
        let among_last = self.recent.iter().filter(|denied| **denied).count();
        if self.in_a_row >= IN_A_ROW || among_last >= AMONG_LAST {
            self.paused_until = Some(now.plus(PAUSE));
            self.recent.clear();
            self.in_a_row = 0;
        }
    }

    /// Whether people decide everything of this agent now.
    pub fn is_paused(&self, now: Timestamp) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_denials_end_the_releases_of_an_agent() {
        let mut record = AgentVerdicts::default();
        let now = Timestamp(0);
        for verdict in [ModelVerdict::Deny, ModelVerdict::Deny, ModelVerdict::Allow] {
            record.note(verdict, now);
        }
        assert!(!record.is_paused(now));
        for _ in 0..3 {
            record.note(ModelVerdict::Deny, now);
        }
        let end = now.plus(PAUSE);
        assert!(record.is_paused(now) && record.is_paused(Timestamp(end.0 - 1)));
        assert!(!record.is_paused(end));
        let mut slow = AgentVerdicts::default();
        for _ in 0..9 {
            slow.note(ModelVerdict::Deny, now);
            slow.note(ModelVerdict::Allow, now);
        }
        assert!(!slow.is_paused(now));
        slow.note(ModelVerdict::Deny, now);
        assert!(slow.is_paused(now));
    }
}
