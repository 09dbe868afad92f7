//! What each session did before, for the assessment of its next calls. Kept in memory only: after a
//! restart a session is one that did nothing.
//!
//! Agents say what they are about to do, and could say what is not so. The memory of a session
//! therefore only raises: a call gets the worse of the assessments with and without it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::context::Context;
use countersign_risk::session::{SessionMemory, SessionTrace};
use countersign_risk::verdict::Policy;

/// How many sessions are remembered; the one that was idle longest is forgotten first.
const MAX_SESSIONS: usize = 512;

/// The memory of all sessions.
#[derive(Debug, Default)]
pub struct SessionMemories {
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_name: HashMap<(String, String), Remembered>,
    /// Counts uses, to find the session that was idle longest.
    uses: u64,
}

#[derive(Debug, Default)]
struct Remembered {
    memory: Arc<SessionMemory>,
    used: u64,
}

impl SessionMemories {
    /// Assesses a call with what its session did before.
    pub fn assess(&self, call: &Call<'_>, policy: &Policy) -> Assessment {
        let Some(name) = name_of(call) else { return assess(call, policy) };
        let memory = self.lock().by_name.get(&name).map(|known| known.memory.clone());
        let memory = memory.unwrap_or_default();
        let context = Context { session: Some(&memory), ..call.context };
        let with = assess(&Call { context, ..call.clone() }, policy);
        if memory.is_empty() {
            return with;
        }
        let mut without = assess(call, policy);
        if without.tier <= with.tier {
            return with;
        }
        without.trace = with.trace;
        without
    }

    /// Adds what a call of a session leaves behind, once the call may run.
    pub fn add(&self, call: &Call<'_>, trace: &SessionTrace) {
        let Some(name) = name_of(call).filter(|_| trace.writes_files()) else { return };
        let mut sessions = self.lock();
        sessions.uses += 1;
        let uses = sessions.uses;
        let known = sessions.by_name.entry(name).or_default();
        known.used = uses;
        Arc::make_mut(&mut known.memory).add(trace);
        if sessions.by_name.len() > MAX_SESSIONS {
            let idle = sessions.by_name.iter().min_by_key(|(_, known)| known.used);
            let idle = idle.map(|(name, _)| name.clone());
            idle.and_then(|name| sessions.by_name.remove(&name));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The agent and session of a call.
fn name_of(call: &Call<'_>) -> Option<(String, String)> {
    let session = call.session.as_deref().filter(|session| !session.is_empty())?;
    Some((call.agent.as_deref().unwrap_or_default().to_owned(), session.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_types::tier::Tier;

    fn call<'a>(command: &'a str, session: &'static str) -> Call<'a> {
        let mut call = Call::shell(command);
        call.agent = Some("coder".into());
        call.session = Some(session.into());
        call.context.cwd = Some("/app");
        call
    }

    fn run(memories: &SessionMemories, command: &str, session: &'static str) -> Tier {
        let call = call(command, session);
        let seen = memories.assess(&call, &Policy::default());
        memories.add(&call, &seen.trace);
        seen.tier
    }

    #[test]
    fn what_a_session_wrote_is_judged_when_it_is_run() {
        let memories = SessionMemories::default();
        run(&memories, "echo 'rm -rf ~' > clean.sh", "one");
        assert!(run(&memories, "bash clean.sh", "one") >= Tier::High);
        assert!(run(&memories, "bash clean.sh", "two") <= Tier::Low);
    }

    #[test]
    fn what_a_session_claims_to_have_written_makes_nothing_harmless() {
        let memories = SessionMemories::default();
        let before = run(&memories, "bash /tmp/x.sh", "one");
        run(&memories, "echo 'echo hi' > /tmp/x.sh", "one");
        assert_eq!(run(&memories, "bash /tmp/x.sh", "one"), before);
        assert!(before >= Tier::Medium);
    }

    #[test]
    fn the_number_of_sessions_is_bounded() {
        let memories = SessionMemories::default();
        for number in 0..MAX_SESSIONS + 10 {
            let mut one = call("echo a > b", "x");
            one.session = Some(number.to_string().into());
            let seen = memories.assess(&one, &Policy::default());
            memories.add(&one, &seen.trace);
        }
        assert_eq!(memories.lock().by_name.len(), MAX_SESSIONS);
    }
}
