//! Which sessions are in a crisis. In memory first, so that no call slips past a write.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use countersign_store::Crisis;

/// Sessions in crisis context, until a person lifts it.
#[derive(Debug, Default)]
pub struct Crises {
    by_agent: RwLock<HashMap<String, HashMap<String, Crisis>>>,
}

impl Crises {
    /// What the store remembers.
    pub fn new(kept: Vec<Crisis>) -> Crises {
        let crises = Crises::default();
        for crisis in kept {
            crises.begin(crisis);
        }
        crises
    }

    /// Whether the crisis rules hold for a call. An agent that names no session while one of its
    /// sessions is in a crisis could be speaking in that one.
    pub fn holds(&self, agent: &str, session: Option<&str>) -> bool {
        let by_agent = self.by_agent.read().unwrap_or_else(PoisonError::into_inner);
        let Some(sessions) = by_agent.get(agent) else { return false };
        match session.filter(|session| !session.is_empty()) {
            Some(session) => sessions.contains_key(session) || sessions.contains_key(""),
            None => !sessions.is_empty(),
        }
    }

    /// A session enters a crisis, or its level rises.
    pub fn begin(&self, crisis: Crisis) {
        let mut by_agent = self.by_agent.write().unwrap_or_else(PoisonError::into_inner);
        let sessions = by_agent.entry(crisis.agent.clone()).or_default();
        let kept = sessions.entry(crisis.session.clone()).or_insert_with(|| crisis.clone());
        kept.level = kept.level.max(crisis.level);
        kept.imminent |= crisis.imminent;
    }

    /// A person lifted it.
    pub fn lift(&self, agent: &str, session: &str) {
        let mut by_agent = self.by_agent.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(sessions) = by_agent.get_mut(agent) {
            sessions.remove(session);
            if sessions.is_empty() {
                by_agent.remove(agent);
            }
        }
    }

    /// All of them.
    pub fn list(&self) -> Vec<Crisis> {
        let by_agent = self.by_agent.read().unwrap_or_else(PoisonError::into_inner);
        by_agent.values().flat_map(HashMap::values).cloned().collect()
    }
}
