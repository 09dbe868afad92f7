//! What people keep: each other, agents, grants, crises, the ledger's pages.

use countersign_json as json;
use countersign_json::Value;
use countersign_json::canonical::Digest;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::time::Time;

/// Who a token belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// Their name.
    pub person: String,
    /// `approver` or `administrator`.
    pub role: String,
    /// Through which channel they logged in.
    #[serde(default)]
    pub channel: String,
    /// Until when.
    #[serde(default)]
    pub expires: Option<Time>,
}

/// A session of one's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Its name.
    pub id: String,
    /// `web` or `terminal`.
    pub channel: String,
    /// Since when.
    #[serde(default)]
    pub made: Option<Time>,
    /// When it was last used.
    #[serde(default)]
    pub used: Option<Time>,
    /// Until when.
    #[serde(default)]
    pub expires: Option<Time>,
    /// Whether it is the one that asks.
    #[serde(default)]
    pub current: bool,
}

/// A person who may answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonRecord {
    /// Their name.
    pub name: String,
    /// `approver` or `administrator`.
    pub role: String,
    /// Since when.
    #[serde(default)]
    pub added: Option<Time>,
    /// From when they may approve.
    #[serde(default)]
    pub active_from: Option<Time>,
    /// Until when.
    #[serde(default)]
    pub revoked: Option<Time>,
}

/// An agent that may ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its name.
    pub name: String,
    /// The Unix user behind the socket.
    #[serde(default)]
    pub uid: Option<u32>,
    /// Addresses that people confirmed to be its own user's.
    #[serde(default)]
    pub own_addresses: Vec<String>,
    /// Since when.
    #[serde(default)]
    pub added: Option<Time>,
    /// Until when its token is good.
    #[serde(default)]
    pub expires: Option<Time>,
    /// When it was ended.
    #[serde(default)]
    pub revoked: Option<Time>,
}

/// An agent to be added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewAgent {
    /// Its name.
    pub name: String,
    /// The Unix user behind the socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Its own user's addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_addresses: Vec<String>,
    /// How many days its token is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
}

/// A standing permission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Its name.
    pub id: String,
    /// `exact`, `action`, `targets` or `to_self`.
    pub shape: String,
    /// The tool.
    #[serde(default)]
    pub tool: Option<String>,
    /// Whom it may reach.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The exact call.
    #[serde(default)]
    pub digest: Option<serde_json::Value>,
    /// Only for this agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// Only in this session.
    #[serde(default)]
    pub session: Option<String>,
    /// Who gave it.
    #[serde(default)]
    pub made_by: String,
    /// When.
    #[serde(default)]
    pub made_at: Option<Time>,
    /// When it ends.
    #[serde(default)]
    pub expires: Option<Time>,
    /// How many calls it may still cover.
    #[serde(default)]
    pub uses_left: Option<u32>,
    /// When it was taken back.
    #[serde(default)]
    pub revoked: Option<Time>,
}

/// A grant to be given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewGrant {
    /// `action`, `targets` or `to_self`.
    pub shape: String,
    /// The tool.
    pub tool: String,
    /// Whom it may reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Only for this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Only in this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// How often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
}

/// A session in crisis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crisis {
    /// The agent whose session it is.
    pub agent: String,
    /// The session.
    pub session: String,
    /// 1 to 6.
    pub level: u8,
    /// Whether danger was near.
    #[serde(default)]
    pub imminent: bool,
    /// Since when.
    #[serde(default)]
    pub since: Option<Time>,
}

/// Some entries of the ledger, in order, as the canonical text that was hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entries {
    /// The place of the first.
    pub from: u64,
    /// Their canonical text.
    pub entries: Vec<String>,
    /// How many there are in the whole ledger.
    pub size: u64,
}

impl Entries {
    /// Reads an answer. Numbers stay as they were written, or the hashes would not.
    pub(crate) fn read(text: &str, wanted: u64) -> Result<Entries, Error> {
        let bad = |what: &str| Error::Unexpected(what.to_owned());
        let value = json::parse(text).map_err(|error| bad(&error.to_string()))?;
        let number = |name| value.get(name).and_then(Value::as_number)?.parse::<u64>().ok();
        let list = value.get("entries").and_then(Value::as_array);
        let list = list.ok_or_else(|| bad("it has no entries"))?;
        let (from, size) = (number("from"), number("size"));
        let (Some(from), Some(size)) = (from, size) else {
            return Err(bad("it does not say where its entries stand"));
        };
        if from != wanted || list.iter().any(|entry| entry.as_object().is_none()) {
            return Err(bad("these are not the entries that were asked for"));
        }
        let entries =
            list.iter().map(|entry| countersign_json::canonical::canonical(entry).text).collect();
        Ok(Entries { from, entries, size })
    }
}

/// The keys that check checkpoints and permits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerKey {
    /// The verifier key of checkpoints.
    pub vkey: String,
    /// The same key for permits.
    #[serde(default)]
    pub jwk: serde_json::Value,
}

/// A proof about the ledger's tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Hashes in hex.
    pub proof: Vec<String>,
}

impl Proof {
    /// The hashes.
    pub fn hashes(&self) -> Result<Vec<Digest>, Error> {
        let read = |hash: &String| Digest::parse(hash);
        let hashes: Result<Vec<_>, _> = self.proof.iter().map(read).collect();
        hashes.map_err(|error| Error::Unexpected(error.to_string()))
    }
}
