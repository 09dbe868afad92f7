//! Which sessions are in a crisis. In memory first, so that no call slips past a write.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use countersign_store::CrisisSession;

/// An agent with more sessions in a crisis than this is in one with all of them.
const MOST_SESSIONS: usize = 256;

type ByAgent = HashMap<String, HashMap<String, Known>>;

/// Sessions in crisis context, until a person lifts it.
#[derive(Debug, Default)]
pub struct Crises {
    by_agent: RwLock<ByAgent>,
}

#[derive(Debug)]
struct Known {
    crisis: CrisisSession,
    /// How many signs were seen.
    signs: u64,
}

impl Crises {
    /// What the store remembers.
    pub fn new(kept: Vec<CrisisSession>) -> Crises {
        let crises = Crises::default();
        for crisis in kept {
            crises.begin(crisis);
        }
        crises
    }

    /// Whether the crisis rules hold for a call. An agent that names no session while one of its
    /// sessions is in a crisis could be speaking in that one.
    pub fn holds(&self, agent: &str, session: Option<&str>) -> bool {
        let by_agent = self.read();
        let Some(sessions) = by_agent.get(agent) else { return false };
        match session.filter(|session| !session.is_empty()) {
            Some(session) => sessions.contains_key(session) || sessions.contains_key(""),
            None => !sessions.is_empty(),
        }
    }

    /// A session enters a crisis, or its level rises. What has to be written down, if anything:
    /// signs that change nothing must not become a flood of writes.
    pub fn begin(&self, mut crisis: CrisisSession) -> Option<CrisisSession> {
        let mut by_agent = self.write();
        let sessions = by_agent.entry(crisis.agent.clone()).or_default();
        if sessions.len() >= MOST_SESSIONS && !sessions.contains_key(&crisis.session) {
            crisis.session.clear();
        }
        let Some(known) = sessions.get_mut(&crisis.session) else {
            let known = Known { crisis: crisis.clone(), signs: 1 };
            sessions.insert(crisis.session.clone(), known);
            return Some(crisis);
        };
        known.signs = known.signs.saturating_add(1);
        let before = (known.crisis.level, known.crisis.imminent);
        known.crisis.level = before.0.max(crisis.level);
        known.crisis.imminent |= crisis.imminent;
        let after = (known.crisis.level, known.crisis.imminent);
        (after != before).then(|| known.crisis.clone())
    }

    /// Whether this very session is in a crisis, and how many signs were seen in it: what a person
    /// who lifts it knows of.
    pub fn signs(&self, agent: &str, session: &str) -> Option<u64> {
        self.read().get(agent)?.get(session).map(|known| known.signs)
    }

    /// A person lifted it, having seen so many signs. A sign that came after them keeps it, and is
    /// given back to be written down again.
    pub fn lift(&self, agent: &str, session: &str, signs: u64) -> Result<(), CrisisSession> {
        let mut by_agent = self.write();
        let Some(sessions) = by_agent.get_mut(agent) else { return Ok(()) };
        if let Some(known) = sessions.get(session).filter(|known| known.signs > signs) {
            return Err(known.crisis.clone());
        }
        sessions.remove(session);
        if sessions.is_empty() {
            by_agent.remove(agent);
        }
        Ok(())
    }

    /// All of them, oldest first.
    pub fn list(&self) -> Vec<CrisisSession> {
        let by_agent = self.read();
        let all = by_agent.values().flat_map(HashMap::values);
        let mut list: Vec<CrisisSession> = all.map(|known| known.crisis.clone()).collect();
        list.sort_by(|a, b| (a.since, &a.agent, &a.session).cmp(&(b.since, &b.agent, &b.session)));
        list
    }

    fn read(&self) -> RwLockReadGuard<'_, ByAgent> {
        self.by_agent.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ByAgent> {
        self.by_agent.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_types::time::Timestamp;

    fn crisis(session: &str, level: u8) -> CrisisSession {
        CrisisSession {
            agent: "a".to_owned(),
            session: session.to_owned(),
            level,
            imminent: false,
            since: Timestamp(1),
        }
    }

    #[test]
    fn it_holds_for_its_session_and_for_calls_that_name_none() {
        let crises = Crises::default();
        assert!(crises.begin(crisis("s", 2)).is_some());
        assert!(crises.holds("a", Some("s")) && crises.holds("a", None));
        assert!(crises.holds("a", Some("")), "an empty name is no other session");
        assert!(!crises.holds("a", Some("t")) && !crises.holds("b", None));
        assert!(crises.begin(crisis("", 2)).is_some());
        assert!(crises.holds("a", Some("t")), "a crisis without a session is in all of them");
    }

    #[test]
    fn only_what_changes_is_written_down() {
        let crises = Crises::default();
        assert!(crises.begin(crisis("s", 2)).is_some());
        assert!(crises.begin(crisis("s", 2)).is_none());
        assert!(crises.begin(crisis("s", 1)).is_none());
        assert_eq!(crises.begin(crisis("s", 4)).map(|crisis| crisis.level), Some(4));
    }

    #[test]
    fn a_sign_that_comes_while_it_is_lifted_keeps_it() {
        let crises = Crises::default();
        crises.begin(crisis("s", 2));
        let seen = crises.signs("a", "s").unwrap();
        crises.begin(crisis("s", 2));
        assert!(crises.lift("a", "s", seen).is_err());
        assert!(crises.holds("a", Some("s")));
        let seen = crises.signs("a", "s").unwrap();
        assert!(crises.lift("a", "s", seen).is_ok());
        assert!(!crises.holds("a", Some("s")) && crises.list().is_empty());
    }

    #[test]
    fn an_agent_cannot_fill_the_memory_with_sessions() {
        let crises = Crises::default();
        for number in 0..=MOST_SESSIONS * 2 {
            crises.begin(crisis(&number.to_string(), 2));
        }
        assert_eq!(crises.list().len(), MOST_SESSIONS + 1);
        assert!(crises.holds("a", Some("any other")));
    }
}
