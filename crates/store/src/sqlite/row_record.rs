//! What the ledger says about the rows of people, agents and their credentials: a digest of every
//! column that gives power, in the entry that recorded the change.

use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::time::Timestamp;

use super::entry::Fact;
use crate::people::{LinkedAccount, Passkey, Role, StoredAgent, StoredLogin, StoredPerson};

/// The fact of an entry that lists the rows it recorded.
pub(super) const ROWS: &str = "rows";
/// In place of the digest of a row that has ended.
const ENDED: &str = "-";

/// The table of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum RowTable {
    Person,
    Agent,
    Login,
    Account,
    Passkey,
}

impl RowTable {
    const ALL: [RowTable; 5] =
        [RowTable::Person, RowTable::Agent, RowTable::Login, RowTable::Account, RowTable::Passkey];

    const fn label(self) -> &'static str {
        match self {
            RowTable::Person => "person",
            RowTable::Agent => "agent",
            RowTable::Login => "login",
            RowTable::Account => "account",
            RowTable::Passkey => "passkey",
        }
    }

    /// Whether rows of this table belong to a person who is in another row.
    pub const fn is_credential(self) -> bool {
        matches!(self, RowTable::Login | RowTable::Account | RowTable::Passkey)
    }

    /// A row of which only its owner is known.
    pub fn describe(self, owner: &str) -> String {
        match self {
            RowTable::Person | RowTable::Agent => format!("{} {owner}", self.label()),
            RowTable::Login => format!("session of {owner}"),
            RowTable::Account => format!("linked account of {owner}"),
            RowTable::Passkey => format!("passkey of {owner}"),
        }
    }
}

/// Which row: its table and a digest of its key columns.
pub(super) type RowKey = (RowTable, [u8; 32]);

/// Which person or agent: the start of the digest of a name.
pub(super) type OwnerKey = [u8; 16];

/// The key of a person or agent.
pub(super) fn owner_key(owner: &str) -> OwnerKey {
    let mut key = OwnerKey::default();
    let digest = Digest::of(owner.as_bytes());
    key.iter_mut().zip(digest.as_bytes()).for_each(|(to, from)| *to = *from);
    key
}

/// What one entry says about one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowRecord {
    pub key: RowKey,
    /// The digest of the row; `None` if it has ended.
    pub content: Option<Digest>,
}

impl RowRecord {
    /// A row that has ended.
    pub const fn ended(key: RowKey) -> RowRecord {
        RowRecord { key, content: None }
    }

    /// The row as an entry lists it.
    pub fn line(&self, owner: &str) -> String {
        let (table, key) = (self.key.0, Digest::from_bytes(self.key.1));
        let content = self.content.map_or_else(|| ENDED.to_owned(), |digest| digest.to_string());
        format!("{} {key} {content} {owner}", table.label())
    }

    /// What an entry says about rows, each with its person or agent.
    pub fn all_of<'e>(entry: &'e Entry<'_>) -> impl Iterator<Item = (RowRecord, &'e str)> {
        let rows = recorded(entry).unwrap_or_default();
        rows.iter().filter_map(Value::as_str).filter_map(RowRecord::parse)
    }

    fn parse(text: &str) -> Option<(RowRecord, &str)> {
        let mut words = text.splitn(4, ' ');
        let label = words.next()?;
        let table = RowTable::ALL.into_iter().find(|table| table.label() == label)?;
        let key = *Digest::parse(words.next()?).ok()?.as_bytes();
        let content = match words.next()? {
            ENDED => None,
            digest => Some(Digest::parse(digest).ok()?),
        };
        Some((RowRecord { key: (table, key), content }, words.next()?))
    }
}

/// Whether an entry records rows. Versions before this one wrote none.
pub(super) fn has_rows(entry: &Entry<'_>) -> bool {
    recorded(entry).is_some()
}

fn recorded<'e>(entry: &'e Entry<'_>) -> Option<&'e [Value<'e>]> {
    if !matches!(entry.kind, EntryKind::Person | EntryKind::Agent | EntryKind::RowsRecorded) {
        return None;
    }
    entry.facts.iter().find(|(name, _)| name == ROWS).and_then(|(_, rows)| match rows {
        Value::Array(rows) => Some(rows.as_slice()),
        _ => None,
    })
}

/// A row that gives its owner power.
pub(super) trait PowerRow {
    /// What an entry says about it.
    fn record(&self) -> RowRecord;
    /// The person or agent.
    fn owner(&self) -> &str;
    /// The row in words.
    fn describe(&self) -> String {
        self.record().key.0.describe(self.owner())
    }
    /// The row as an entry lists it.
    fn line(&self) -> String {
        self.record().line(self.owner())
    }
}

/// Lines of rows as a fact.
pub(super) fn rows_fact<'a>(lines: Vec<String>) -> Fact<'a> {
    let lines = lines.into_iter().map(|line| Value::String(line.into())).collect();
    (ROWS.into(), Value::Array(lines))
}

impl PowerRow for StoredPerson {
    fn record(&self) -> RowRecord {
        let role = match self.role {
            Role::Approver => "approver",
            Role::Administrator => "administrator",
        };
        let mut row = RowBytes::new(RowTable::Person);
        row.text(&self.name);
        let key = row.key();
        row.text(role).text(&self.passphrase).time(self.added).time(self.role_since);
        row.time(self.active_from);
        row.record(key, self.revoked)
    }

    fn owner(&self) -> &str {
        &self.name
    }
}

impl PowerRow for StoredAgent {
    fn record(&self) -> RowRecord {
        let mut row = RowBytes::new(RowTable::Agent);
        row.text(&self.name);
        let key = row.key();
        row.optional(self.token.as_ref().map(|token| token.as_bytes().as_slice()));
        row.optional(self.uid.map(u32::to_be_bytes).as_ref().map(<[u8; 4]>::as_slice));
        row.number(i64::try_from(self.own_addresses.len()).unwrap_or(i64::MAX));
        for address in &self.own_addresses {
            row.text(address);
        }
        row.time(self.added);
        row.optional(self.expires.map(|at| at.0.to_be_bytes()).as_ref().map(<[u8; 8]>::as_slice));
        row.record(key, self.revoked)
    }

    fn owner(&self) -> &str {
        &self.name
    }
}

impl PowerRow for StoredLogin {
    fn record(&self) -> RowRecord {
        let mut row = RowBytes::new(RowTable::Login);
        row.bytes(self.secret.as_bytes());
        let key = row.key();
        row.text(&self.person).text(&self.channel).time(self.made).time(self.expires);
        row.record(key, self.ended)
    }

    fn owner(&self) -> &str {
        &self.person
    }
}

impl PowerRow for LinkedAccount {
    fn record(&self) -> RowRecord {
        let mut row = RowBytes::new(RowTable::Account);
        row.text(&self.channel).text(&self.account);
        let key = row.key();
        row.text(&self.person).text(&self.called).time(self.linked).time(self.active_from);
        row.record(key, self.ended)
    }

    fn owner(&self) -> &str {
        &self.person
    }

    fn describe(&self) -> String {
        format!("linked account of {} on {}", self.person, self.channel)
    }
}

impl PowerRow for Passkey {
    /// Without the counter and the time of the last use, which change at each use.
    fn record(&self) -> RowRecord {
        let mut row = RowBytes::new(RowTable::Passkey);
        row.bytes(&self.credential);
        let key = row.key();
        row.text(&self.person).text(&self.name).bytes(&self.public_key).number(self.algorithm);
        row.time(self.added).time(self.active_from);
        row.record(key, self.ended)
    }

    fn owner(&self) -> &str {
        &self.person
    }

    fn describe(&self) -> String {
        format!("passkey {:?} of {}", self.name, self.person)
    }
}

/// The columns of a row as bytes, each after its length, so that no two rows have the same bytes.
struct RowBytes {
    table: RowTable,
    bytes: Vec<u8>,
}

impl RowBytes {
    fn new(table: RowTable) -> RowBytes {
        let mut row = RowBytes { table, bytes: Vec::with_capacity(256) };
        row.text(table.label());
        row
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut RowBytes {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn text(&mut self, text: &str) -> &mut RowBytes {
        self.bytes(text.as_bytes())
    }

    fn number(&mut self, number: i64) -> &mut RowBytes {
        self.bytes(&number.to_be_bytes())
    }

    fn time(&mut self, at: Timestamp) -> &mut RowBytes {
        self.number(at.0)
    }

    fn optional(&mut self, bytes: Option<&[u8]>) -> &mut RowBytes {
        self.number(i64::from(bytes.is_some())).bytes(bytes.unwrap_or_default())
    }

    /// The digest of what was added up to now: the key columns.
    fn key(&self) -> RowKey {
        (self.table, *Digest::of(&self.bytes).as_bytes())
    }

    fn record(self, key: RowKey, ended: Option<Timestamp>) -> RowRecord {
        RowRecord { key, content: ended.is_none().then(|| Digest::of(&self.bytes)) }
    }
}
