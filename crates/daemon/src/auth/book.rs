//! The book of everybody who is known, at hand in memory; the store has the pages.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use countersign_core::canon::Digest;
use countersign_core::time::Timestamp;
use countersign_store::{Agent, Backend, Login, Person, Role, Store, StoreError};

use super::{AGENT_TOKEN, PERSON_TOKEN, Stranger};
use crate::gate::Caller;

/// A person, as they proved to be.
#[derive(Debug, Clone)]
pub struct Who {
    /// Their name.
    pub person: String,
    /// What they may do.
    pub role: Role,
    /// Through which channel they came.
    pub channel: String,
    /// Their login, to end it.
    pub login: Digest,
}

impl Who {
    /// Whether they may change people, agents and grants.
    pub fn administrator(&self) -> Result<(), Stranger> {
        match self.role {
            Role::Administrator => Ok(()),
            Role::Approver => Err(Stranger::NotAnAdministrator),
        }
    }
}

/// Everybody who is known.
#[derive(Debug, Default)]
pub struct Book {
    pages: RwLock<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    tokens: HashMap<Digest, Arc<Known>>,
    uids: HashMap<u32, Arc<Known>>,
    people: HashMap<String, Person>,
    logins: HashMap<Digest, Login>,
}

#[derive(Debug)]
struct Known {
    caller: Caller,
    expires: Option<Timestamp>,
}

impl Book {
    /// Reads everybody again.
    pub async fn read(&self, store: &Backend) -> Result<(), StoreError> {
        let (agents, people) = (store.agents().await?, store.people().await?);
        let logins = store.logins().await?;
        let mut pages = Pages::default();
        for agent in agents.into_iter().filter(|agent| agent.revoked.is_none()) {
            pages.enter(agent);
        }
        pages.people = people
            .into_iter()
            .filter(|person| person.revoked.is_none())
            .map(|person| (person.name.clone(), person))
            .collect();
        pages.logins = logins.into_iter().map(|login| (login.secret, login)).collect();
        *self.pages.write().unwrap_or_else(PoisonError::into_inner) = pages;
        Ok(())
    }

    /// The agent with this token.
    pub fn agent(&self, token: &str, now: Timestamp) -> Result<Caller, Stranger> {
        if !token.starts_with(AGENT_TOKEN) {
            return Err(Stranger::Unknown);
        }
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let known = pages.tokens.get(&Digest::of(token.as_bytes())).ok_or(Stranger::Unknown)?;
        if known.expires.is_some_and(|end| now >= end) {
            return Err(Stranger::Unknown);
        }
        Ok(known.caller.clone())
    }

    /// The agent behind a socket, by its Unix user: a known one, or one named after the user.
    pub fn socket_peer(&self, uid: u32) -> Caller {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        pages.uids.get(&uid).map_or_else(
            || Caller { agent: format!("uid:{uid}"), own_addresses: Arc::from([]) },
            |known| known.caller.clone(),
        )
    }

    /// The person with this browser session or token.
    pub fn person(&self, secret: &str, now: Timestamp) -> Result<Who, Stranger> {
        if secret.starts_with(AGENT_TOKEN) {
            return Err(Stranger::NotAPerson);
        }
        if !secret.starts_with(PERSON_TOKEN) {
            return Err(Stranger::Unknown);
        }
        let digest = Digest::of(secret.as_bytes());
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let login = pages.logins.get(&digest).ok_or(Stranger::Unknown)?;
        if login.ended.is_some() || now >= login.expires {
            return Err(Stranger::Unknown);
        }
        let person = pages.people.get(&login.person).ok_or(Stranger::Unknown)?;
        Ok(Who {
            person: person.name.clone(),
            role: person.role,
            channel: login.channel.clone(),
            login: digest,
        })
    }

    /// The record of a person by name.
    pub fn record(&self, name: &str) -> Option<Person> {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        pages.people.get(name).cloned()
    }

    /// How many people can answer.
    pub fn people(&self) -> usize {
        self.pages.read().unwrap_or_else(PoisonError::into_inner).people.len()
    }
}

impl Pages {
    fn enter(&mut self, agent: Agent) {
        let caller = Caller { agent: agent.name, own_addresses: Arc::from(agent.own_addresses) };
        let known = Arc::new(Known { caller, expires: agent.expires });
        if let Some(token) = agent.token {
            self.tokens.insert(token, Arc::clone(&known));
        }
        if let Some(uid) = agent.uid {
            self.uids.insert(uid, known);
        }
    }
}
