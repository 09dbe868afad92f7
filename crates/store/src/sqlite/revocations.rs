//! The rights that ledger entries took away: revoked grants, used uses, redeemed permits, replaced
//! labels.
//!
//! The table that says which entries are about which request can be edited with any SQLite client.
//! A missing row there must not give a right back, so what was taken away is read from the entries
//! themselves when the store is opened, and is then kept in memory.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_ledger::merkle::{Frontier, leaf_hash};
use countersign_types::id::Id;
use countersign_types::time::{Millis, Timestamp};
use rusqlite::Connection;

use super::grant_budget::GrantUses;
use super::pending_entries::Entries;
use super::revocation::Revocation;
use super::row_record::{OwnerKey, RowKey, RowRecord, RowTable, has_rows, owner_key};
use crate::error::StoreResult;
use crate::newest_entries::NewestEntries;
use crate::record::TreeHead;

/// No permit is redeemed later than this after its approval; the configuration allows seven days.
pub(super) const MAX_PERMIT_AGE: Millis = Millis(8 * 24 * 3_600 * 1_000);
/// For how long the times of uses are kept.
const MAX_USE_AGE: Millis = Millis(3_600 * 1_000);
/// Redeemed permits that may be kept before old ones are removed.
const MIN_KEPT: usize = 1_024;

/// What rows are compared with: the head of the ledger, and what its entries took away.
#[derive(Debug)]
pub(super) struct RecordedLedger<'a> {
    /// The head of the committed tree.
    pub head: TreeHead,
    /// What the entries up to there, or newer ones, took away.
    pub revocations: &'a Revocations,
    /// How often each grant with limited uses, rate or budget was used, and at which cost. No newer
    /// than the rows, which would say that more is left.
    pub uses: Arc<HashMap<Id, GrantUses>>,
}

/// Everything that the entries of a ledger took away.
#[derive(Debug)]
pub(super) struct Revocations {
    known: RwLock<KnownRevocations>,
    is_intact: bool,
    newest_entries: NewestEntries,
    names: NamedRows,
}

/// The people and agents that entries named when the store was opened.
#[derive(Debug, Default)]
pub(super) struct NamedRows {
    pub people: HashSet<String>,
    pub agents: HashSet<String>,
    /// Whether an entry had the digest of a row. Earlier versions wrote none.
    has_digests: bool,
}

impl NamedRows {
    fn note(&mut self, entry: &Entry<'_>) {
        self.has_digests |= has_rows(entry);
        let (names, name) = match entry.kind {
            EntryKind::Person => (&mut self.people, &entry.person),
            EntryKind::Agent => (&mut self.agents, &entry.agent),
            _ => return,
        };
        if let Some(name) = name.as_deref().filter(|name| !names.contains(*name)) {
            names.insert(name.to_owned());
        }
    }
}

#[derive(Debug, Default)]
struct KnownRevocations {
    revoked: HashSet<Id>,
    used: Arc<HashMap<Id, GrantUses>>,
    /// When these grants were used in the hour before their last use.
    used_at: HashMap<Id, Vec<Timestamp>>,
    redeemed: HashMap<Id, Timestamp>,
    /// The content of the newest labels of each MCP server.
    labels: HashMap<Id, Digest>,
    /// The number of entries before the clock was rebased last.
    rebased: Option<u64>,
    /// The digests of rows of people, agents and credentials that have not ended.
    rows: HashMap<RowKey, (Digest, OwnerKey)>,
    /// Whether an entry since the start recorded a row.
    has_rows: bool,
    /// How many redeemed permits there may be before old ones are removed.
    max_redeemed: usize,
}

impl Revocations {
    /// Reads the whole ledger, and compares it with the head of its tree.
    pub fn read(conn: &Connection, head: TreeHead) -> StoreResult<Revocations> {
        let (mut known, mut tree) = (KnownRevocations::default(), Frontier::new());
        let (mut newest_entries, mut names) = (NewestEntries::default(), NamedRows::default());
        let mut statement = conn.prepare("SELECT entries FROM segment ORDER BY first")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let segment = row.get_ref(0)?.as_blob().unwrap_or_default();
            for bytes in Entries(segment) {
                tree.append(leaf_hash(bytes));
                let text = std::str::from_utf8(bytes).unwrap_or_default();
                if !Revocation::may_be_in(text) {
                    continue;
                }
                if let Ok(entry) = Entry::decode(bytes) {
                    for one in Revocation::of(&entry) {
                        known.add(one);
                    }
                    newest_entries.note(&entry, bytes);
                    names.note(&entry);
                }
            }
        }
        let is_intact = tree.size() == head.size && tree.root() == head.root;
        Ok(Revocations { known: RwLock::new(known), is_intact, newest_entries, names })
    }

    /// Whether the entries were those of the signed tree when the store was opened.
    pub fn is_intact(&self) -> bool {
        self.is_intact
    }

    /// The newest entries about what is in force, when the store was opened.
    pub fn newest_entries(&self) -> &NewestEntries {
        &self.newest_entries
    }

    /// Adds what a commit took away.
    pub fn add(&self, taken: &[Revocation]) {
        if taken.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for one in taken {
            known.add(one.clone());
        }
    }

    /// Whether a grant was revoked. In a changed ledger every grant counts as revoked, because the
    /// entry that revoked it may be the changed one.
    pub fn is_revoked(&self, grant: Id) -> bool {
        !self.is_intact || self.known(|known| known.revoked.contains(&grant))
    }

    /// Whether the newest labels of a server have this content.
    pub fn has_labels(&self, server: Id, content: &Digest) -> bool {
        self.is_intact && self.known(|known| known.labels.get(&server) == Some(content))
    }

    /// How often each grant with limited uses, rate or budget was used, and at which cost.
    pub fn uses(&self) -> Arc<HashMap<Id, GrantUses>> {
        self.known(|known| Arc::clone(&known.used))
    }

    /// How often a grant with limited uses or rate was used after this time, at most an hour ago.
    pub fn uses_after(&self, grant: Id, time: Timestamp) -> usize {
        self.known(|known| {
            let times = known.used_at.get(&grant);
            times.map_or(0, |times| times.iter().filter(|at| **at > time).count())
        })
    }

    /// When the permit of a request was redeemed.
    pub fn redeemed(&self, request: Id) -> Option<Timestamp> {
        self.known(|known| known.redeemed.get(&request).copied())
    }

    /// Whether the clock was rebased after this entry.
    pub fn is_before_rebase(&self, seq: u64) -> bool {
        self.known(|known| known.rebased.is_some_and(|size| seq < size))
    }

    /// The digest of the row of a person, agent or credential; `None` if it has ended or the ledger
    /// does not know it. A changed ledger is believed here: it stops all approvals, and a person
    /// must be able to sign in and acknowledge it.
    pub fn row(&self, key: RowKey) -> Option<Digest> {
        self.known(|known| known.rows.get(&key).map(|(content, _)| *content))
    }

    /// The credentials of a person that have not ended.
    pub fn credentials_of(&self, person: &str) -> BTreeSet<RowKey> {
        let owner = owner_key(person);
        self.known(|known| {
            let own =
                known.rows.iter().filter(|(key, (_, of))| key.0.is_credential() && *of == owner);
            own.map(|(key, _)| *key).collect()
        })
    }

    /// Forgets sessions that are not among these: they expired or were deleted, and no later row
    /// gives them back.
    pub fn keep_logins(&self, live: &HashSet<RowKey>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.rows.retain(|key, _| key.0 != RowTable::Login || live.contains(key));
    }

    /// Whether the ledger names a person.
    pub fn has_people(&self) -> bool {
        let is_person = |(table, _): &RowKey| *table == RowTable::Person;
        !self.names.people.is_empty() || self.known(|known| known.rows.keys().any(is_person))
    }

    /// The names in a ledger of an earlier version, which has no digests of rows.
    pub fn names_without_digests(&self) -> Option<&NamedRows> {
        let names = &self.names;
        let is_empty = names.people.is_empty() && names.agents.is_empty();
        let has_digests = names.has_digests || self.known(|known| known.has_rows);
        (!is_empty && !has_digests).then_some(names)
    }

    fn known<T>(&self, read: impl FnOnce(&KnownRevocations) -> T) -> T {
        read(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KnownRevocations {
    fn add(&mut self, one: Revocation) {
        match one {
            Revocation::Revoked(id) => {
                self.revoked.insert(id);
            }
            Revocation::Used(id, at, cost) => {
                Arc::make_mut(&mut self.used).entry(id).or_default().add(&cost);
                let recent = self.used_at.entry(id).or_default();
                recent.retain(|time| time.plus(MAX_USE_AGE) >= at);
                recent.push(at);
            }
            Revocation::Redeemed(id, at) => {
                self.redeemed.insert(id, at);
                self.forget_old(at);
            }
            Revocation::Relabelled(server, content) => {
                self.labels.insert(server, content);
            }
            Revocation::Rebased(size) => {
                self.rebased = self.rebased.max(Some(size));
                // Also sessions without a row: it could come back.
                self.rows.retain(|key, _| key.0 != RowTable::Login);
            }
            Revocation::RowRecorded(RowRecord { key, content }, owner) => {
                self.has_rows = true;
                match content {
                    Some(content) => self.rows.insert(key, (content, owner)),
                    None => self.rows.remove(&key),
                };
            }
        }
    }

    /// Removes redeemed permits that are too old to be redeemed again.
    fn forget_old(&mut self, now: Timestamp) {
        if self.redeemed.len() <= self.max_redeemed.max(MIN_KEPT) {
            return;
        }
        self.redeemed.retain(|_, at| at.plus(MAX_PERMIT_AGE) >= now);
        self.max_redeemed = self.redeemed.len().saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_sessions_are_forgotten_and_credentials_are_found_by_their_owner() {
        let known = Revocations {
            known: RwLock::default(),
            is_intact: true,
            newest_entries: NewestEntries::default(),
            names: NamedRows::default(),
        };
        let content = Some(Digest::of(b"row"));
        let row = |table: RowTable, byte: u8, owner: &str| {
            let record = RowRecord { key: (table, [byte; 32]), content };
            Revocation::RowRecorded(record, owner_key(owner))
        };
        known.add(&[
            row(RowTable::Person, 1, "ana"),
            row(RowTable::Login, 2, "ana"),
            row(RowTable::Login, 3, "ana"),
            row(RowTable::Passkey, 4, "ana"),
            row(RowTable::Passkey, 5, "bo"),
        ]);
        let own = |bytes: &[(RowTable, u8)]| -> BTreeSet<RowKey> {
            bytes.iter().map(|(table, byte)| (*table, [*byte; 32])).collect()
        };
        let (login, passkey) = (RowTable::Login, RowTable::Passkey);
        assert_eq!(known.credentials_of("ana"), own(&[(login, 2), (login, 3), (passkey, 4)]));
        known.keep_logins(&HashSet::from([(login, [2; 32])]));
        assert_eq!(known.credentials_of("ana"), own(&[(login, 2), (passkey, 4)]));
        assert_eq!(known.row((login, [3; 32])), None);
        assert_eq!(known.row((RowTable::Person, [1; 32])), content);
    }
}
