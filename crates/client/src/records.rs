//! Records of the people API: people, agents, grants, crises, pages of the ledger.

use std::path::PathBuf;

use countersign_json as json;
use countersign_json::Value;
use countersign_json::canonical::Digest;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::time::Time;

/// The person that a token belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentPerson {
    /// Their name.
    pub person: String,
    /// `approver` or `administrator`.
    pub role: String,
    /// The channel of the login.
    #[serde(default)]
    pub channel: String,
    /// When it expires.
    #[serde(default)]
    pub expires: Option<Time>,
}

/// One of the person's own sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Its id.
    pub id: String,
    /// `web` or `terminal`.
    pub channel: String,
    /// When it began.
    #[serde(default)]
    pub made: Option<Time>,
    /// When it was last used.
    #[serde(default)]
    pub used: Option<Time>,
    /// When it expires.
    #[serde(default)]
    pub expires: Option<Time>,
    /// Whether it is the current session.
    #[serde(default)]
    pub current: bool,
}

/// A person who may decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonRecord {
    /// Their name.
    pub name: String,
    /// `approver` or `administrator`.
    pub role: String,
    /// When they were added.
    #[serde(default)]
    pub added: Option<Time>,
    /// When they may begin to approve.
    #[serde(default)]
    pub active_from: Option<Time>,
    /// When they were revoked.
    #[serde(default)]
    pub revoked: Option<Time>,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its name.
    pub name: String,
    /// The Unix user that connects to the socket.
    #[serde(default)]
    pub uid: Option<u32>,
    /// Confirmed addresses of the agent's user.
    #[serde(default)]
    pub own_addresses: Vec<String>,
    /// When it was added.
    #[serde(default)]
    pub added: Option<Time>,
    /// When its token expires.
    #[serde(default)]
    pub expires: Option<Time>,
    /// When it was revoked.
    #[serde(default)]
    pub revoked: Option<Time>,
}

/// A new agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewAgent {
    /// Its name.
    pub name: String,
    /// The Unix user that connects to the socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Addresses of the agent's user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_addresses: Vec<String>,
    /// For how many days its token is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
}

/// A session in crisis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrisisRecord {
    /// The agent whose session it is.
    pub agent: String,
    /// The session.
    pub session: String,
    /// 1 to 6.
    pub level: u8,
    /// Whether the danger is imminent.
    #[serde(default)]
    pub imminent: bool,
    /// When it began.
    #[serde(default)]
    pub since: Option<Time>,
}

/// An agent that may not ask, because people denied its requests too often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineRecord {
    /// The agent, as it is counted.
    pub agent: String,
    /// When the quarantine ends.
    pub until: Time,
}

/// Entries of the ledger in order, as the canonical text that was hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entries {
    /// The index of the first.
    pub from: u64,
    /// Their canonical text.
    pub entries: Vec<String>,
    /// The number of entries of the whole ledger.
    pub size: u64,
}

impl Entries {
    /// Parses a response. Numbers stay as written, because the hashes depend on them.
    pub(crate) fn read(text: &str, wanted: u64) -> Result<Entries, Error> {
        let bad = |what: &str| Error::Unexpected(what.to_owned());
        let value = json::parse(text).map_err(|error| bad(&error.to_string()))?;
        let number = |name| value.get(name).and_then(Value::as_number)?.parse::<u64>().ok();
        let list = value.get("entries").and_then(Value::as_array);
        let list = list.ok_or_else(|| bad("the list of entries is missing"))?;
        let (from, size) = (number("from"), number("size"));
        let (Some(from), Some(size)) = (from, size) else {
            return Err(bad("the index of the entries is missing"));
        };
        if from != wanted || list.iter().any(|entry| entry.as_object().is_none()) {
            return Err(bad("these are not the requested entries"));
        }
        let entries =
            list.iter().map(|entry| countersign_json::canonical::canonical(entry).text).collect();
        Ok(Entries { from, entries, size })
    }
}

/// The keys that verify checkpoints and permits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerKey {
    /// The verifier key of checkpoints.
    pub vkey: String,
    /// The same key for permits.
    #[serde(default)]
    pub jwk: serde_json::Value,
}

/// Who runs a daemon and where its files are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonInstallation {
    /// Its version.
    pub version: String,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its process.
    pub pid: u32,
    /// The program that it runs.
    pub program: Option<PathBuf>,
    /// The configuration file, which need not exist.
    pub config: PathBuf,
    /// The folder of the keys.
    pub state: PathBuf,
    /// The file of the store.
    pub store: PathBuf,
    /// The socket of the agent API.
    pub socket: Option<PathBuf>,
    /// The statements about replaced keys, one on each line.
    #[serde(default)]
    pub key_rotations: String,
}

/// A daemon that can approve calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// The mode in force; empty from a daemon that does not say.
    #[serde(default)]
    pub mode: String,
    /// The weaker mode that waits for confirmation.
    #[serde(default)]
    pub requested_mode: Option<String>,
    /// The stage of a freeze, if there is one: `frozen` or `grants_suspended`.
    #[serde(default)]
    pub freeze: Option<String>,
    /// The person who froze.
    #[serde(default)]
    pub frozen_by: Option<String>,
    /// How many edited settings wait for confirmation.
    #[serde(default)]
    pub waiting_settings: u64,
    /// How many projects have lost their adopted rules.
    #[serde(default)]
    pub lost_adoptions: u64,
    /// Why no agent of the fleet is accepted, if that is so.
    #[serde(default)]
    pub fleet_fault: Option<String>,
}

/// The freeze in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreezeRecord {
    /// `frozen`, `grants_suspended`, or nothing.
    pub stage: Option<String>,
    /// The person who froze.
    pub by: Option<String>,
    /// When.
    pub since: Option<Time>,
}

impl Readiness {
    /// What people must know about a freeze.
    pub fn freeze_warning(&self) -> Option<String> {
        let by = self.frozen_by.as_deref().unwrap_or("a person");
        let stage = self.freeze.as_deref()?;
        Some(if stage == "grants_suspended" {
            format!("Grants are suspended since {by} froze everything; people decide again")
        } else {
            format!("Everything is frozen by {by}: every call is refused")
        })
    }

    /// What people must know about edited settings that are not in force.
    pub fn settings_warning(&self) -> Option<String> {
        match self.waiting_settings {
            0 => None,
            1 => Some("1 edited setting waits for confirmation and is not in force".to_owned()),
            many => Some(format!("{many} edited settings wait for confirmation, not in force")),
        }
    }

    /// What people must know about the mode; nothing if risky calls wait for a person.
    pub fn warning(&self) -> Option<String> {
        if !["", "enforce"].contains(&self.mode.as_str()) {
            return Some(format!(
                "The mode is {}: risky calls run without a question and are only recorded",
                self.mode
            ));
        }
        self.requested_mode.as_ref().map(|mode| {
            format!("The configuration asks for the mode {mode}, which waits for confirmation")
        })
    }
}

/// The rows of requests, grants, people, agents and their credentials compared with the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRows {
    /// How many requests there are.
    pub requests: u64,
    /// How many rows differ from their entries.
    pub differences: u64,
    /// The first that differ.
    pub listed: Vec<LedgerRowDifference>,
}

/// A row that differs from its ledger entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRowDifference {
    /// The request or grant.
    pub request: Option<String>,
    /// The person, agent, session, linked account or passkey, in words.
    #[serde(default)]
    pub credential: Option<String>,
    /// Its state in the row, if there is one.
    pub row: Option<String>,
    /// Its state in the ledger, if there is one.
    pub ledger: Option<String>,
}

/// A Merkle proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MerkleProof {
    /// Hashes in hex.
    pub proof: Vec<String>,
}

impl MerkleProof {
    /// The hashes.
    pub fn hashes(&self) -> Result<Vec<Digest>, Error> {
        let read = |hash: &String| Digest::parse(hash);
        let hashes: Result<Vec<_>, _> = self.proof.iter().map(read).collect();
        hashes.map_err(|error| Error::Unexpected(error.to_string()))
    }
}
