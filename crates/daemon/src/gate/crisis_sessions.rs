//! The sessions in crisis. Memory is updated before the store, so that no call runs in between.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use countersign_store::{Backend, CrisisSession, CrisisTakeover, Store as _, StoreError};
use countersign_types::time::{Millis, Timestamp};

/// If an agent has more sessions in crisis than this, all its sessions count as in crisis.
const MAX_SESSIONS: usize = 256;
/// A sign after so long without one begins another episode, for which people are paged again.
const EPISODE_PAUSE: Millis = Millis::from_seconds(15 * 60);

type ByAgent = HashMap<String, HashMap<String, CrisisRecord>>;

/// The sessions in crisis, until a person lifts each one.
#[derive(Debug, Default)]
pub struct CrisisSessions {
    by_agent: RwLock<ByAgent>,
}

#[derive(Debug)]
struct CrisisRecord {
    crisis: CrisisSession,
    /// The number of signs detected.
    signs: u64,
    /// The first and the last sign of the current episode.
    episode: (Timestamp, Timestamp),
    /// When a person answered in this session last.
    answered: Option<Timestamp>,
    taken_over: Option<Takeover>,
}

impl CrisisRecord {
    /// Whether no person has reacted to its episode.
    fn is_open(&self) -> bool {
        let taken = self.taken_over.as_ref().map(|takeover| takeover.at);
        self.answered.max(taken).is_none_or(|at| at < self.episode.0)
    }

    fn open_episode(&self) -> OpenEpisode {
        OpenEpisode {
            crisis: self.crisis.clone(),
            since: self.episode.0,
            taken_over_by: self.taken_over.as_ref().map(|takeover| takeover.person.clone()),
        }
    }
}

/// A person who took over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takeover {
    /// Who.
    pub person: String,
    /// When.
    pub at: Timestamp,
}

/// An episode of a crisis that no person has reacted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenEpisode {
    /// The crisis.
    pub crisis: CrisisSession,
    /// When the episode began.
    pub since: Timestamp,
    /// Who took over before it began.
    pub taken_over_by: Option<String>,
}

impl CrisisSessions {
    /// Loads the sessions and who took them over from the store.
    pub async fn restore(store: &Backend) -> Result<CrisisSessions, StoreError> {
        let crises = CrisisSessions::new(store.crises().await?);
        crises.restore_takeovers(store.takeovers().await?);
        Ok(crises)
    }

    /// The sessions that the store kept.
    pub fn new(kept: Vec<CrisisSession>) -> CrisisSessions {
        let crises = CrisisSessions::default();
        for crisis in kept {
            crises.begin(crisis);
        }
        crises
    }

    /// Whether the crisis rules apply to a call. A call without a session may belong to any session
    /// of its agent that is in crisis.
    pub fn holds(&self, agent: &str, session: Option<&str>) -> bool {
        let by_agent = self.read();
        let Some(sessions) = by_agent.get(agent) else { return false };
        match session.filter(|session| !session.is_empty()) {
            Some(session) => sessions.contains_key(session) || sessions.contains_key(""),
            None => !sessions.is_empty(),
        }
    }

    /// Marks a session as in crisis, or raises its level. Returns the record to store, if it
    /// changed: repeated signs must not cause a flood of writes.
    pub fn begin(&self, mut crisis: CrisisSession) -> Option<CrisisSession> {
        let mut by_agent = self.write();
        let sessions = by_agent.entry(crisis.agent.clone()).or_default();
        if sessions.len() >= MAX_SESSIONS && !sessions.contains_key(&crisis.session) {
            crisis.session.clear();
        }
        let Some(known) = sessions.get_mut(&crisis.session) else {
            let known = CrisisRecord {
                crisis: crisis.clone(),
                signs: 1,
                episode: (crisis.since, crisis.since),
                answered: None,
                taken_over: None,
            };
            sessions.insert(crisis.session.clone(), known);
            return Some(crisis);
        };
        known.signs = known.signs.saturating_add(1);
        let (first, last) = known.episode;
        let another = last.until(crisis.since) > EPISODE_PAUSE;
        // Danger that has become imminent is news, whatever was done before.
        let newly_imminent = crisis.imminent && !known.crisis.imminent;
        let begins = if another || newly_imminent { crisis.since } else { first };
        known.episode = (begins, last.max(crisis.since));
        let before = (known.crisis.level, known.crisis.imminent);
        known.crisis.level = before.0.max(crisis.level);
        known.crisis.imminent |= crisis.imminent;
        let after = (known.crisis.level, known.crisis.imminent);
        (after != before).then(|| known.crisis.clone())
    }

    /// The number of signs in a session that is in crisis: those that a person who lifts it has
    /// seen.
    pub fn signs(&self, agent: &str, session: &str) -> Option<u64> {
        self.read().get(agent)?.get(session).map(|known| known.signs)
    }

    /// Lifts the crisis by a person who has seen this many signs. A newer sign keeps it, and is
    /// returned to be stored again.
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

    /// Restores who took over which session.
    pub fn restore_takeovers(&self, kept: Vec<CrisisTakeover>) {
        for CrisisTakeover { agent, session, person, at } in kept {
            self.take_over(&agent, &session, Takeover { person, at });
        }
    }

    /// A person takes over; `false` if the session is not in a crisis. The first one stays.
    pub fn take_over(&self, agent: &str, session: &str, takeover: Takeover) -> bool {
        let mut by_agent = self.write();
        let sessions = by_agent.get_mut(agent);
        let Some(known) = sessions.and_then(|sessions| sessions.get_mut(session)) else {
            return false;
        };
        known.taken_over.get_or_insert(takeover);
        true
    }

    /// Who took over the session of a call. A call without a session may belong to any session of
    /// its agent.
    pub fn takeover(&self, agent: &str, session: Option<&str>) -> Option<Takeover> {
        let by_agent = self.read();
        let sessions = by_agent.get(agent)?;
        let taken = |known: &CrisisRecord| known.taken_over.clone();
        match session.filter(|session| !session.is_empty()) {
            Some(session) => {
                let known = [session, ""].into_iter().filter_map(|name| sessions.get(name));
                { known }.find_map(taken)
            }
            None => sessions.values().find_map(taken),
        }
    }

    /// Whether a person took over exactly this session; an empty name is the crisis without one.
    pub fn is_taken_over(&self, agent: &str, session: &str) -> bool {
        let by_agent = self.read();
        let known = by_agent.get(agent).and_then(|sessions| sessions.get(session));
        known.is_some_and(|known| known.taken_over.is_some())
    }

    /// Whether a person has taken over any session.
    pub fn has_takeovers(&self) -> bool {
        self.read().values().flat_map(HashMap::values).any(|known| known.taken_over.is_some())
    }

    /// Notes that a person answered a call of this session.
    pub fn answered(&self, agent: &str, session: &str, now: Timestamp) {
        let mut by_agent = self.write();
        let Some(sessions) = by_agent.get_mut(agent) else { return };
        for name in [session, ""] {
            if let Some(known) = sessions.get_mut(name) {
                known.answered = known.answered.max(Some(now));
            }
        }
    }

    /// The episodes that no person has reacted to. A takeover counts for what came before it: the
    /// person may have left when there is news.
    pub fn open_episodes(&self) -> Vec<OpenEpisode> {
        let by_agent = self.read();
        let all = by_agent.values().flat_map(HashMap::values);
        all.filter(|known| known.is_open()).map(CrisisRecord::open_episode).collect()
    }

    /// The episode of a session's crisis that no person has reacted to.
    pub fn open_episode(&self, agent: &str, session: &str) -> Option<OpenEpisode> {
        let by_agent = self.read();
        let sessions = by_agent.get(agent)?;
        let known = sessions.get(session).or_else(|| sessions.get(""))?;
        known.is_open().then(|| known.open_episode())
    }

    /// The crisis that a session belongs to: its own, else the one without a session.
    pub fn of_session(&self, agent: &str, session: &str) -> Option<CrisisSession> {
        let by_agent = self.read();
        let sessions = by_agent.get(agent)?;
        sessions.get(session).or_else(|| sessions.get("")).map(|known| known.crisis.clone())
    }

    /// All sessions in crisis, oldest first.
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
    fn a_crisis_applies_to_its_session_and_to_calls_without_one() {
        let crises = CrisisSessions::default();
        assert!(crises.begin(crisis("s", 2)).is_some());
        assert!(crises.holds("a", Some("s")) && crises.holds("a", None));
        assert!(crises.holds("a", Some("")), "an empty name is no other session");
        assert!(!crises.holds("a", Some("t")) && !crises.holds("b", None));
        assert!(crises.begin(crisis("", 2)).is_some());
        assert!(crises.holds("a", Some("t")), "a crisis without a session is in all of them");
    }

    #[test]
    fn only_changes_of_a_crisis_are_stored() {
        let crises = CrisisSessions::default();
        assert!(crises.begin(crisis("s", 2)).is_some());
        assert!(crises.begin(crisis("s", 2)).is_none());
        assert!(crises.begin(crisis("s", 1)).is_none());
        assert_eq!(crises.begin(crisis("s", 4)).map(|crisis| crisis.level), Some(4));
    }

    #[test]
    fn a_sign_during_the_resolution_keeps_the_crisis() {
        let crises = CrisisSessions::default();
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
    fn a_later_sign_begins_another_episode_until_a_person_reacts() {
        let crises = CrisisSessions::default();
        let at =
            |minutes: i64| CrisisSession { since: Timestamp(minutes * 60_000), ..crisis("s", 2) };
        let since = || crises.open_episodes().first().map(|open| open.since.0 / 60_000);
        crises.begin(at(0));
        crises.begin(at(10));
        assert_eq!(since(), Some(0));
        crises.answered("a", "s", Timestamp(11 * 60_000));
        assert_eq!(since(), None);
        crises.begin(at(12));
        assert_eq!(since(), None, "the same episode");
        crises.begin(at(40));
        assert_eq!(since(), Some(40));
        crises.begin(CrisisSession { imminent: true, ..at(42) });
        assert_eq!(since(), Some(42), "danger that has become imminent");
        let takeover = Takeover { person: "ana".to_owned(), at: Timestamp(43 * 60_000) };
        assert!(crises.take_over("a", "s", takeover.clone()));
        assert_eq!(since(), None);
        crises.begin(at(50));
        assert_eq!(since(), None, "the person is there");
        crises.begin(at(70));
        assert_eq!(since(), Some(70), "another episode, after the takeover");
        assert!(!crises.take_over("a", "t", takeover));
        let taken = |session| crises.takeover("a", session).is_some();
        assert!(taken(Some("s")) && taken(None) && taken(Some("")) && !taken(Some("t")));
    }

    #[test]
    fn an_agent_cannot_fill_the_memory_with_sessions() {
        let crises = CrisisSessions::default();
        for number in 0..=MAX_SESSIONS * 2 {
            crises.begin(crisis(&number.to_string(), 2));
        }
        assert_eq!(crises.list().len(), MAX_SESSIONS + 1);
        assert!(crises.holds("a", Some("any other")));
    }
}
