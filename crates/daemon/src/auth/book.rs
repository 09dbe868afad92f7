//! The book of everybody who is known, at hand in memory; the store has the pages.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, RwLock};

use countersign_json::canonical::Digest;
use countersign_store::{
    Backend, Passkey, Role, Store, StoreError, StoredAgent, StoredLogin, StoredPerson,
};
use countersign_types::time::{Span, Timestamp};
use countersign_workflow::assurance::Tenure;
use tokio::sync::{Mutex, MutexGuard};

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
    /// Until when it is good.
    pub expires: Timestamp,
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
    /// When each login was last used. Not kept: after a restart every login counts as just used.
    used: StdMutex<HashMap<Digest, Timestamp>>,
    /// Held while the pages are read: an older reading never replaces a newer one.
    reading: Mutex<()>,
    /// Held while somebody is added or taken out, so that what was checked still holds.
    changing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Pages {
    tokens: HashMap<Digest, Arc<Known>>,
    uids: HashMap<u32, Arc<Known>>,
    agents: HashSet<String>,
    people: HashMap<String, StoredPerson>,
    logins: HashMap<Digest, StoredLogin>,
    /// By channel and account.
    accounts: HashMap<(String, String), Linked>,
    /// By person.
    passkeys: HashMap<String, Vec<Passkey>>,
}

/// Whose an account elsewhere is, and since when.
#[derive(Debug)]
struct Linked {
    person: String,
    tenure: Tenure,
}

#[derive(Debug)]
struct Known {
    caller: Caller,
    expires: Option<Timestamp>,
}

impl Book {
    /// Reads everybody again.
    pub async fn read(&self, store: &Backend) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let (agents, people) = (store.agents().await?, store.people().await?);
        let logins = store.logins().await?;
        let (accounts, passkeys) = (store.accounts().await?, store.passkeys().await?);
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
        for account in accounts {
            let tenure = Tenure { since: account.linked, active_from: account.active_from };
            let linked = Linked { person: account.person, tenure };
            pages.accounts.insert((account.channel, account.account), linked);
        }
        for passkey in passkeys {
            pages.passkeys.entry(passkey.person.clone()).or_default().push(passkey);
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|login, _| pages.logins.contains_key(login));
        drop(used);
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
    pub fn socket_peer(&self, uid: u32, now: Timestamp) -> Caller {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let known = pages.uids.get(&uid);
        let known = known.filter(|known| known.expires.is_none_or(|end| now < end));
        known.map_or_else(
            || Caller { agent: format!("uid:{uid}"), own_addresses: Arc::from([]) },
            |known| known.caller.clone(),
        )
    }

    /// The person with this browser session or token.
    pub fn person(&self, secret: &str, idle: Span, now: Timestamp) -> Result<Who, Stranger> {
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
        self.use_login(digest, idle, now)?;
        Ok(Who {
            person: person.name.clone(),
            role: person.role,
            channel: login.channel.clone(),
            login: digest,
            expires: login.expires,
        })
    }

    /// Refuses a login that was idle for too long, and notes that it is used now.
    fn use_login(&self, login: Digest, idle: Span, now: Timestamp) -> Result<(), Stranger> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let last = used.entry(login).or_insert(now);
        if now >= last.plus(idle) {
            return Err(Stranger::Unknown);
        }
        *last = now.max(*last);
        Ok(())
    }

    /// When a login was last used, as far as is known here.
    pub fn last_used(&self, login: &StoredLogin, now: Timestamp) -> Timestamp {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(&login.secret).copied().unwrap_or(login.made).min(now)
    }

    /// The person to whom an account elsewhere is linked.
    pub fn account(&self, channel: &str, account: &str) -> Option<(String, Tenure)> {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let linked = pages.accounts.get(&(channel.to_owned(), account.to_owned()))?;
        let person = pages.people.get(&linked.person)?;
        Some((person.name.clone(), linked.tenure.and(tenure(person))))
    }

    /// How long a person has had their role; somebody unknown has it only from the end of time on.
    pub fn tenure(&self, name: &str) -> Tenure {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        pages.people.get(name).map_or(Tenure::from(Timestamp(i64::MAX)), tenure)
    }

    /// Whether this is everybody there is.
    pub fn is_alone(&self, name: &str) -> bool {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        pages.people.len() == 1 && pages.people.contains_key(name)
    }

    /// The passkeys of a person.
    pub fn passkeys(&self, person: &str) -> Vec<Passkey> {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        pages.passkeys.get(person).cloned().unwrap_or_default()
    }

    /// Whether a person has a passkey that may sign by now: then they sign what is CRITICAL.
    pub fn has_passkey(&self, person: &str, now: Timestamp) -> bool {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let passkeys = pages.passkeys.get(person);
        passkeys.is_some_and(|list| list.iter().any(|passkey| passkey.active_from <= now))
    }

    /// Waits until nobody else changes who is known. What is checked then still holds when it is
    /// written.
    pub async fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// Takes a person out at once, whatever the store answers next.
    pub fn strike_person(&self, name: &str) {
        let mut pages = self.pages.write().unwrap_or_else(PoisonError::into_inner);
        pages.people.remove(name);
        pages.logins.retain(|_, login| login.person != name);
        pages.accounts.retain(|_, linked| linked.person != name);
        pages.passkeys.remove(name);
    }

    /// Takes an agent out at once, whatever the store answers next.
    pub fn strike_agent(&self, name: &str) {
        let mut pages = self.pages.write().unwrap_or_else(PoisonError::into_inner);
        pages.tokens.retain(|_, known| known.caller.agent != name);
        pages.uids.retain(|_, known| known.caller.agent != name);
        pages.agents.remove(name);
    }

    /// Unlinks an account at once, whatever the store answers next.
    pub fn strike_account(&self, channel: &str, account: &str) {
        let mut pages = self.pages.write().unwrap_or_else(PoisonError::into_inner);
        pages.accounts.remove(&(channel.to_owned(), account.to_owned()));
    }

    /// Ends a login at once, whatever the store answers next.
    pub fn strike_login(&self, login: Digest) {
        self.pages.write().unwrap_or_else(PoisonError::into_inner).logins.remove(&login);
    }

    /// Whether there is an agent of this name.
    pub fn knows_agent(&self, name: &str) -> bool {
        self.pages.read().unwrap_or_else(PoisonError::into_inner).agents.contains(name)
    }

    /// The record of a person by name.
    pub fn record(&self, name: &str) -> Option<StoredPerson> {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        pages.people.get(name).cloned()
    }

    /// How many people can answer.
    pub fn people(&self) -> usize {
        self.pages.read().unwrap_or_else(PoisonError::into_inner).people.len()
    }
}

fn tenure(person: &StoredPerson) -> Tenure {
    Tenure { since: person.added.max(person.role_since), active_from: person.active_from }
}

impl Pages {
    fn enter(&mut self, agent: StoredAgent) {
        self.agents.insert(agent.name.clone());
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
