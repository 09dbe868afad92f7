//! What each session did before, for the assessment of its next calls. The store keeps it across
//! restarts, redacted and at most a second late.
//!
//! Agents say what they are about to do, and could say what is not so. The memory of a session
//! therefore only raises: a call gets the worse of the assessments with and without it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::context::Context;
use countersign_risk::session::{SessionMemory, SessionTrace};
use countersign_risk::verdict::Policy;
use countersign_store::StoredSessionMemory;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;

/// How many sessions are remembered; the one that was idle longest is forgotten first.
const MAX_SESSIONS: usize = 512;
/// How many pending calls are noted; the session of the oldest then counts as one that wrote
/// unknown files.
const MAX_PENDING: usize = 1_024;

/// The authenticated agent, and the session as the agent named it.
type SessionName = (String, String);

/// The memory of all sessions.
#[derive(Debug, Default)]
pub struct SessionMemories {
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_name: HashMap<SessionName, Remembered>,
    /// What pending calls would leave behind, by request.
    pending: BTreeMap<Id, (SessionName, SessionTrace)>,
    /// Counts uses, to find the session that was idle longest.
    uses: u64,
}

#[derive(Debug, Default)]
struct Remembered {
    memory: Arc<SessionMemory>,
    used: u64,
    /// Changed since it was stored.
    changed: bool,
}

impl Sessions {
    /// The memory of a session, to change it.
    fn change(&mut self, name: SessionName, change: impl FnOnce(&mut SessionMemory)) {
        self.uses += 1;
        let known = self.by_name.entry(name).or_default();
        (known.used, known.changed) = (self.uses, true);
        change(Arc::make_mut(&mut known.memory));
        if self.by_name.len() > MAX_SESSIONS {
            let idle = self.by_name.iter().min_by_key(|(_, known)| known.used);
            let idle = idle.map(|(name, _)| name.clone());
            idle.and_then(|name| self.by_name.remove(&name));
        }
    }
}

impl SessionMemories {
    /// The stored memories, the most recent first.
    pub fn restore(stored: Vec<StoredSessionMemory>) -> SessionMemories {
        let mut sessions = Sessions::default();
        for saved in stored.into_iter().rev().take(MAX_SESSIONS) {
            let memory = serde_json::from_str(&saved.memory);
            let memory =
                memory.map_or_else(|_| SessionMemory::unreadable(), SessionMemory::restored);
            sessions.uses += 1;
            let (used, memory) = (sessions.uses, Arc::new(memory));
            let remembered = Remembered { memory, used, changed: false };
            sessions.by_name.insert((saved.agent, saved.session), remembered);
        }
        SessionMemories { sessions: Mutex::new(sessions) }
    }

    /// The memories that changed since the last call, as they are stored.
    pub fn take_changed(&self, now: Timestamp) -> Vec<StoredSessionMemory> {
        let mut changed = Vec::new();
        for ((agent, session), known) in &mut self.lock().by_name {
            if std::mem::take(&mut known.changed) {
                changed.push((agent.clone(), session.clone(), Arc::clone(&known.memory)));
            }
        }
        // Redacting takes a while, so it runs without the lock.
        let stored = changed.into_iter().filter_map(|(agent, session, memory)| {
            let memory = serde_json::to_string(&memory.redacted()).ok()?;
            Some(StoredSessionMemory { agent, session, memory, used: now })
        });
        stored.collect()
    }

    /// Notes again that a memory was not stored.
    pub fn mark_changed(&self, saved: &StoredSessionMemory) {
        let name = (saved.agent.clone(), saved.session.clone());
        if let Some(known) = self.lock().by_name.get_mut(&name) {
            known.changed = true;
        }
    }

    /// Assesses a call with what its session did before.
    pub fn assess(&self, call: &Call<'_>, policy: &Policy) -> Assessment {
        let Some(name) = name_of(call) else { return assess(call, policy) };
        let memory = self.lock().by_name.get(&name).map(|known| known.memory.clone());
        let memory = memory.unwrap_or_default();
        let context = Context { session: Some(&memory), ..call.context };
        let mut with = assess(&Call { context, ..call.clone() }, policy);
        if memory.is_empty() {
            return with;
        }
        let context = Context { session: Some(&SessionMemory::default()), ..call.context };
        let mut without = assess(&Call { context, ..call.clone() }, policy);
        // What is asked without the memory is asked: an answer for the session must cover it too.
        let (mut trace, other) =
            (std::mem::take(&mut with.trace), std::mem::take(&mut without.trace));
        trace.absorb_question(other);
        // The rules see every command that one of the two assessments found.
        let (mut worse, milder) =
            if without.tier <= with.tier { (with, without) } else { (without, with) };
        worse.commands.absorb(milder.commands);
        worse.trace = trace;
        worse
    }

    /// Adds what a call of a session leaves behind, once the call may run.
    pub fn add(&self, call: &Call<'_>, trace: &SessionTrace) {
        let Some(name) = name_of(call).filter(|_| trace.is_remembered()) else { return };
        self.lock().change(name, |memory| memory.add(trace));
    }

    /// Notes what a pending call would leave behind.
    pub fn hold(&self, request: Id, call: &Call<'_>, trace: &SessionTrace) {
        let Some(name) = name_of(call).filter(|_| trace.is_remembered()) else { return };
        let mut sessions = self.lock();
        sessions.pending.insert(request, (name, trace.clone()));
        if sessions.pending.len() > MAX_PENDING
            && let Some((_, (name, _))) = sessions.pending.pop_first()
        {
            sessions.change(name, SessionMemory::lose);
        }
    }

    /// Adds what a pending call leaves behind if it was approved, and forgets the note.
    pub fn settle(&self, request: Id, approved: bool) {
        let mut sessions = self.lock();
        if let Some((name, trace)) = sessions.pending.remove(&request)
            && approved
        {
            sessions.change(name, |memory| memory.add(&trace));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The agent and session of a call. The gate has set the agent to the authenticated one.
fn name_of(call: &Call<'_>) -> Option<SessionName> {
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
    fn what_a_session_wrote_is_assessed_when_it_is_run() {
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
    fn the_memory_survives_a_restart_without_secrets() {
        let memories = SessionMemories::default();
        let secret = "export GITHUB_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345";
        run(&memories, &format!("echo '{secret}; rm -rf ~' > clean.sh"), "one");
        let stored = memories.take_changed(Timestamp(1));
        assert!(stored.len() == 1 && memories.take_changed(Timestamp(2)).is_empty());
        assert!(!stored[0].memory.contains("ghp_0123"), "{}", stored[0].memory);
        let unreadable = StoredSessionMemory {
            session: "two".to_owned(),
            memory: "?".to_owned(),
            ..stored[0].clone()
        };
        let restored = SessionMemories::restore(vec![stored[0].clone(), unreadable]);
        assert!(run(&restored, "bash clean.sh", "one") >= Tier::High);
        assert!(restored.lock().by_name[&("coder".to_owned(), "two".to_owned())].memory.is_lost());
    }

    #[test]
    fn an_approved_call_is_remembered_and_a_denied_one_is_not() {
        for (approved, tier) in [(true, Tier::High), (false, Tier::Safe)] {
            let memories = SessionMemories::default();
            let one = call("echo 'rm -rf ~' > clean.sh", "one");
            let seen = memories.assess(&one, &Policy::default());
            memories.hold(Id::from_bytes([1; 16]), &one, &seen.trace);
            memories.settle(Id::from_bytes([1; 16]), approved);
            let runs = run(&memories, "bash clean.sh", "one");
            assert!(if approved { runs >= tier } else { runs <= Tier::Low }, "{runs:?}");
        }
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
