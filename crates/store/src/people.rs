//! Who is who: people who answer, agents that ask, and the proofs of either.

use countersign_json::canonical::Digest;
use countersign_types::time::Timestamp;

/// What a person may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Answers requests.
    Approver,
    /// Answers, and changes people, agents, grants.
    Administrator,
}

/// A person who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPerson {
    /// Unique name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// argon2id, as a PHC string. The passphrase itself is nowhere.
    pub passphrase: String,
    /// Since when.
    pub added: Timestamp,
    /// Since when they have had this role. The store sets it when the role changes.
    pub role_since: Timestamp,
    /// From when they may approve: the end of their waiting period.
    pub active_from: Timestamp,
    /// Until when; everything they hold ends with it.
    pub revoked: Option<Timestamp>,
}

/// An agent that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAgent {
    /// Unique name.
    pub name: String,
    /// SHA-256 of its token, if it has one.
    pub token: Option<Digest>,
    /// The Unix user behind the socket, if it comes that way.
    pub uid: Option<u32>,
    /// Addresses that a person confirmed to be its own user's.
    pub own_addresses: Vec<String>,
    /// Since when.
    pub added: Timestamp,
    /// Until when its token is good.
    pub expires: Option<Timestamp>,
    /// Until when it was known at all.
    pub revoked: Option<Timestamp>,
}

/// A person's browser session or token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLogin {
    /// SHA-256 of the secret that is presented.
    pub secret: Digest,
    /// Whose.
    pub person: String,
    /// Through which channel it was made (`web`, `terminal`).
    pub channel: String,
    /// Since when.
    pub made: Timestamp,
    /// Until when.
    pub expires: Timestamp,
    /// Ended early.
    pub ended: Option<Timestamp>,
}

/// An account elsewhere that a person linked to their name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedAccount {
    /// The channel, by its name in the settings.
    pub channel: String,
    /// What the platform calls the account: a number or a name that does not change.
    pub account: String,
    /// Whose.
    pub person: String,
    /// What it is called there, for people to recognise.
    pub called: String,
    /// Since when.
    pub linked: Timestamp,
    /// From when it may approve: the end of its waiting period.
    pub active_from: Timestamp,
    /// Until when.
    pub ended: Option<Timestamp>,
}

/// A passkey: what signatures of a person's device are checked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    /// What the device calls it.
    pub credential: Vec<u8>,
    /// Whose.
    pub person: String,
    /// What the person calls it.
    pub name: String,
    /// The public key.
    pub public_key: Vec<u8>,
    /// COSE's number of the algorithm.
    pub algorithm: i64,
    /// How many signatures the device has counted.
    pub uses: u32,
    /// Since when.
    pub added: Timestamp,
    /// From when it may sign: the end of its waiting period.
    pub active_from: Timestamp,
    /// When it signed last.
    pub used: Option<Timestamp>,
    /// Until when.
    pub ended: Option<Timestamp>,
}

/// A browser that asked to be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushSubscription {
    /// Where to: whoever knows it can call.
    pub endpoint: String,
    /// Whose browser.
    pub person: String,
    /// The browser's P-256 key, uncompressed.
    pub public_key: Vec<u8>,
    /// The secret that it shares with us.
    pub secret: Vec<u8>,
    /// What the person would call this browser.
    pub called: String,
    /// Since when.
    pub added: Timestamp,
    /// Until when.
    pub ended: Option<Timestamp>,
}
