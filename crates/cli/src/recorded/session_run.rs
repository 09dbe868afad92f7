//! The sessions of recorded calls, each with its memory, as the gate would have kept it.

use std::collections::{HashMap, VecDeque};

use countersign_risk::verdict::Policy;

use crate::engine::{self, Assessment, Call, SessionMemory, Verdict};

/// How many sessions are remembered at once. A session that is forgotten and comes back has lost
/// its files, so that scripts ask.
const MAX_SESSIONS: usize = 512;

/// What the gate would have done with a recorded call.
pub struct RecordedVerdict {
    /// The assessment, before answers for the session were considered.
    pub assessment: Assessment,
    /// An earlier approval in the session covers it.
    pub remembered: bool,
}

impl RecordedVerdict {
    /// Whether a person would be asked if no answer were remembered.
    pub fn asks(&self) -> bool {
        matches!(self.assessment.verdict, Verdict::Ask | Verdict::Crisis)
    }

    /// Whether a person would be asked.
    pub fn asks_again(&self) -> bool {
        self.asks() && !self.remembered
    }
}

/// Sessions that are assessed under one policy.
pub struct SessionRuns {
    policy: Policy,
    sessions: HashMap<String, SessionMemory>,
    order: VecDeque<String>,
}

impl SessionRuns {
    /// No sessions yet.
    pub fn new(policy: Policy) -> SessionRuns {
        SessionRuns { policy, sessions: HashMap::new(), order: VecDeque::new() }
    }

    /// Assesses the next call of its session. A call that ran counts as approved for the rest of
    /// the session. `raw` is the text of its arguments.
    pub fn assess(&mut self, call: &Call<'_>, raw: &str, ran: bool) -> RecordedVerdict {
        let session = call.session.as_deref().unwrap_or_default().to_owned();
        let mut memory = self.take(&session);
        let mut assessment = {
            let context = engine::Context { session: Some(&memory), ..call.context };
            let asked = Call { context, ..call.clone() };
            engine::assess_with(&asked, &self.policy)
        };
        let digest = engine::call_digest(call, raw);
        let verdict = assessment.verdict;
        let remembered = memory.apply_answers(&mut assessment, &digest);
        if ran {
            memory.answer(&assessment, &digest);
            memory.add(&assessment.trace);
        }
        assessment.verdict = verdict;
        self.sessions.insert(session, memory);
        RecordedVerdict { assessment, remembered }
    }

    fn take(&mut self, session: &str) -> SessionMemory {
        if let Some(memory) = self.sessions.remove(session) {
            return memory;
        }
        self.order.push_back(session.to_owned());
        if self.order.len() > MAX_SESSIONS {
            let oldest = self.order.pop_front().unwrap_or_default();
            self.sessions.remove(&oldest);
        }
        SessionMemory::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(runs: &mut SessionRuns, session: &'static str, command: &str, ran: bool) -> [bool; 2] {
        let call = Call { session: Some(session.into()), ..Call::shell(command) };
        let found = runs.assess(&call, command, ran);
        [found.asks(), found.asks_again()]
    }

    #[test]
    fn an_answer_covers_the_same_call_in_its_session_only() {
        let mut runs = SessionRuns::new(Policy::default());
        assert_eq!(seen(&mut runs, "a", "git push --force", true), [true, true]);
        assert_eq!(seen(&mut runs, "a", "git push --force", true), [true, false]);
        assert_eq!(seen(&mut runs, "b", "git push --force", true), [true, true]);
        assert_eq!(seen(&mut runs, "a", "ls", true), [false, false]);
    }

    #[test]
    fn a_rejected_call_answers_nothing_and_leaves_nothing() {
        let mut runs = SessionRuns::new(Policy::default());
        let write = "printf 'git push --force' > x.sh";
        seen(&mut runs, "a", write, false);
        seen(&mut runs, "a", "git push --force", false);
        assert_eq!(seen(&mut runs, "a", "git push --force", true), [true, true]);
    }
}
