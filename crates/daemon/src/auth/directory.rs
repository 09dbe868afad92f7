//! The directory of people, agents, sessions and linked accounts: a copy of the store in memory.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, RwLock};

use countersign_json::canonical::Digest;
use countersign_store::{
    Backend, CredentialRows, Passkey, Role, Store, StoreError, StoredAgent, StoredLogin,
    StoredPerson,
};
use countersign_types::time::{Millis, Timestamp};
use countersign_workflow::assurance::Tenure;
use tokio::sync::{Mutex, MutexGuard};

use super::error::AuthError;
use super::names;
use super::tokens::{AGENT_TOKEN, PERSON_TOKEN};
use crate::gate::{Caller, RefusedLabels};

/// An authenticated person.
#[derive(Debug, Clone)]
pub struct PersonIdentity {
    /// Their name.
    pub person: String,
    /// Their role.
    pub role: Role,
    /// The channel of their session.
    pub channel: String,
    /// The digest of their session's secret.
    pub login: Digest,
    /// When the session expires.
    pub expires: Timestamp,
}

impl PersonIdentity {
    /// Whether they may change people, agents and grants.
    pub fn administrator(&self) -> Result<(), AuthError> {
        match self.role {
            Role::Administrator => Ok(()),
            Role::Approver => Err(AuthError::NotAnAdministrator),
        }
    }
}

/// People, agents, sessions and linked accounts.
#[derive(Debug, Default)]
pub struct Directory {
    entries: RwLock<Entries>,
    /// When a person last did something in each session. Not stored: after a restart, that is when
    /// the session was made.
    last_used: StdMutex<HashMap<Digest, Timestamp>>,
    /// Rows that the ledger does not confirm.
    unrecorded: StdMutex<Vec<String>>,
    /// Held while the store is read, so that an older read never replaces a newer one.
    reading: Mutex<()>,
    /// Held while people or agents change, so that a check still holds when the change is written.
    changing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Entries {
    tokens: HashMap<Digest, Arc<KnownAgent>>,
    uids: HashMap<u32, Arc<KnownAgent>>,
    agents: HashSet<String>,
    people: HashMap<String, StoredPerson>,
    logins: HashMap<Digest, StoredLogin>,
    /// By channel and account.
    accounts: HashMap<(String, String), LinkedAccount>,
    /// By person.
    passkeys: HashMap<String, Vec<Passkey>>,
    /// What no agent program may call itself.
    refused_labels: Arc<RefusedLabels>,
}

/// The person behind a linked account, and since when.
#[derive(Debug)]
struct LinkedAccount {
    person: String,
    tenure: Tenure,
}

#[derive(Debug)]
struct KnownAgent {
    caller: Caller,
    expires: Option<Timestamp>,
}

impl Directory {
    /// Reads everything again from the store.
    pub async fn reload(&self, store: &Backend) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let CredentialRows { people, agents, logins, accounts, passkeys, unrecorded, .. } =
            store.credentials().await?;
        self.report(unrecorded);
        let mut entries = Entries::default();
        for agent in agents.into_iter().filter(|agent| agent.revoked.is_none()) {
            entries.add_agent(agent);
        }
        entries.people = people
            .into_iter()
            .filter(|person| person.revoked.is_none())
            .map(|person| (person.name.clone(), person))
            .collect();
        let people = entries.people.keys().map(String::as_str);
        entries.refused_labels = Arc::new(names::refused_labels(people));
        entries.logins = logins.into_iter().map(|login| (login.secret, login)).collect();
        for account in accounts {
            let tenure = Tenure { since: account.linked, active_from: account.active_from };
            let linked = LinkedAccount { person: account.person, tenure };
            entries.accounts.insert((account.channel, account.account), linked);
        }
        for passkey in passkeys {
            entries.passkeys.entry(passkey.person.clone()).or_default().push(passkey);
        }
        let mut used = self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|login, _| entries.logins.contains_key(login));
        drop(used);
        *self.entries.write().unwrap_or_else(PoisonError::into_inner) = entries;
        Ok(())
    }

    /// Logs rows that the ledger does not confirm, each once until it is gone.
    fn report(&self, unrecorded: Vec<String>) {
        let mut known = self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner);
        for row in unrecorded.iter().filter(|row| !known.contains(row)) {
            tracing::error!(
                row,
                "a row of the store has no ledger entry with its content and gives no rights; the \
                 store was edited, see `countersign ledger verify`"
            );
        }
        *known = unrecorded;
    }

    /// The agent with this token.
    pub fn agent(&self, token: &str, now: Timestamp) -> Result<Caller, AuthError> {
        if !token.starts_with(AGENT_TOKEN) {
            return Err(AuthError::Invalid);
        }
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let known = entries.tokens.get(&Digest::of(token.as_bytes())).ok_or(AuthError::Invalid)?;
        if known.expires.is_some_and(|end| now >= end) {
            return Err(AuthError::Invalid);
        }
        Ok(known.caller.clone())
    }

    /// The agent behind a Unix socket, by its user id: a known one, or one named after the user id.
    pub fn socket_peer(&self, uid: u32, now: Timestamp) -> Caller {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let known = entries.uids.get(&uid);
        let known = known.filter(|known| known.expires.is_none_or(|end| now < end));
        let caller = known
            .map_or_else(|| Caller::named(&format!("uid:{uid}")), |known| known.caller.clone());
        let refused_labels = Arc::clone(&entries.refused_labels);
        Caller { is_socket_peer: true, refused_labels, ..caller }
    }

    /// The person with this session secret or token.
    pub fn person(
        &self,
        secret: &str,
        idle: Millis,
        now: Timestamp,
    ) -> Result<PersonIdentity, AuthError> {
        if secret.starts_with(AGENT_TOKEN) {
            return Err(AuthError::NotAPerson);
        }
        if !secret.starts_with(PERSON_TOKEN) {
            return Err(AuthError::Invalid);
        }
        let digest = Digest::of(secret.as_bytes());
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let login = entries.logins.get(&digest).ok_or(AuthError::Invalid)?;
        if login.ended.is_some() || now >= login.expires {
            return Err(AuthError::Invalid);
        }
        let person = entries.people.get(&login.person).ok_or(AuthError::Invalid)?;
        self.check_idle(login, idle, now)?;
        Ok(PersonIdentity {
            person: person.name.clone(),
            role: person.role,
            channel: login.channel.clone(),
            login: digest,
            expires: login.expires,
        })
    }

    /// Rejects a session in which a person did nothing for too long. What they did before the start
    /// of this process is not known, so that a restart revives no session.
    fn check_idle(
        &self,
        login: &StoredLogin,
        idle: Millis,
        now: Timestamp,
    ) -> Result<(), AuthError> {
        let used = self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        let last = used.get(&login.secret).copied().unwrap_or(login.made);
        if now < last.plus(idle) { Ok(()) } else { Err(AuthError::Invalid) }
    }

    /// Records that a person did something in this session. Reading does not count: an open page
    /// reads by itself.
    pub fn record_use(&self, login: Digest, now: Timestamp) {
        let mut used = self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        let last = used.entry(login).or_insert(now);
        *last = now.max(*last);
    }

    /// When a person last did something in a session, as far as this process knows.
    pub fn last_used(&self, login: &StoredLogin, now: Timestamp) -> Timestamp {
        let used = self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(&login.secret).copied().unwrap_or(login.made).min(now)
    }

    /// The person to whom an account is linked.
    pub fn account(&self, channel: &str, account: &str) -> Option<(String, Tenure)> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let linked = entries.accounts.get(&(channel.to_owned(), account.to_owned()))?;
        let person = entries.people.get(&linked.person)?;
        Some((person.name.clone(), linked.tenure.and(tenure(person))))
    }

    /// Since when a person has had their role; for an unknown person, never.
    pub fn tenure(&self, name: &str) -> Tenure {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.people.get(name).map_or(Tenure::from(Timestamp(i64::MAX)), tenure)
    }

    /// Whether this is the only person.
    fn is_only_person(&self, name: &str) -> bool {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.people.len() == 1 && entries.people.contains_key(name)
    }

    /// How long a new passkey or linked account of this person waits before it may approve. A
    /// single person sets the installation up, and no one else could object.
    pub fn waiting_period(&self, person: &str, configured: Millis) -> Millis {
        if self.is_only_person(person) { Millis(0) } else { configured }
    }

    /// The passkeys of a person.
    pub fn passkeys(&self, person: &str) -> Vec<Passkey> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.passkeys.get(person).cloned().unwrap_or_default()
    }

    /// Whether a person has a passkey that may sign now: then CRITICAL approvals need it.
    pub fn has_passkey(&self, person: &str, now: Timestamp) -> bool {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let passkeys = entries.passkeys.get(person);
        passkeys.is_some_and(|list| list.iter().any(|passkey| passkey.active_from <= now))
    }

    /// Waits until no other change of people or agents is in progress, so that a check still holds
    /// when the change is written.
    pub async fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// Removes a person at once, whatever the store does next.
    pub fn remove_person(&self, name: &str) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.people.remove(name);
        entries.logins.retain(|_, login| login.person != name);
        entries.accounts.retain(|_, linked| linked.person != name);
        entries.passkeys.remove(name);
    }

    /// Removes an agent at once, whatever the store does next.
    pub fn remove_agent(&self, name: &str) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.tokens.retain(|_, known| known.caller.agent != name);
        entries.uids.retain(|_, known| known.caller.agent != name);
        entries.agents.remove(name);
    }

    /// Unlinks an account at once, whatever the store does next.
    pub fn remove_account(&self, channel: &str, account: &str) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.accounts.remove(&(channel.to_owned(), account.to_owned()));
    }

    /// Ends a session at once, whatever the store does next.
    pub fn remove_login(&self, login: Digest) {
        self.entries.write().unwrap_or_else(PoisonError::into_inner).logins.remove(&login);
    }

    /// Whether an agent of this name exists.
    pub fn has_agent(&self, name: &str) -> bool {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).agents.contains(name)
    }

    /// The record of a person.
    pub fn record(&self, name: &str) -> Option<StoredPerson> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.people.get(name).cloned()
    }

    /// How many people there are.
    pub fn person_count(&self) -> usize {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).people.len()
    }
}

fn tenure(person: &StoredPerson) -> Tenure {
    Tenure { since: person.added.max(person.role_since), active_from: person.active_from }
}

impl Entries {
    fn add_agent(&mut self, agent: StoredAgent) {
        self.agents.insert(agent.name.clone());
        let caller = Caller {
            agent: agent.name,
            own_addresses: Arc::from(agent.own_addresses),
            ..Caller::named("")
        };
        let known = Arc::new(KnownAgent { caller, expires: agent.expires });
        if let Some(token) = agent.token {
            self.tokens.insert(token, Arc::clone(&known));
        }
        if let Some(uid) = agent.uid {
            self.uids.insert(uid, known);
        }
    }
}
