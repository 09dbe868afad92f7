//! People, agents, and the credentials of both.

use countersign_json::canonical::Digest;
use countersign_types::time::Timestamp;

/// A person's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Decides requests.
    Approver,
    /// Decides requests and manages people, agents and grants.
    Administrator,
}

/// A person who decides requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPerson {
    /// Unique name.
    pub name: String,
    /// Their role.
    pub role: Role,
    /// The argon2id hash of the passphrase, as a PHC string.
    pub passphrase: String,
    /// When they were added.
    pub added: Timestamp,
    /// When they got this role. The store sets it when the role changes.
    pub role_since: Timestamp,
    /// The end of their waiting period; they may approve from then on.
    pub active_from: Timestamp,
    /// When they were revoked; all their credentials end at the same time.
    pub revoked: Option<Timestamp>,
}

/// An agent that makes requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAgent {
    /// Unique name.
    pub name: String,
    /// SHA-256 of its token, if it has one.
    pub token: Option<Digest>,
    /// Its Unix user id, if it connects through the Unix socket.
    pub uid: Option<u32>,
    /// Addresses that a person confirmed to be those of the agent's own user.
    pub own_addresses: Vec<String>,
    /// When it was added.
    pub added: Timestamp,
    /// When its token expires.
    pub expires: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// A person's browser session or token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLogin {
    /// SHA-256 of the cookie or token.
    pub secret: Digest,
    /// The person.
    pub person: String,
    /// The channel that created it (`web`, `terminal`).
    pub channel: String,
    /// When it was created.
    pub made: Timestamp,
    /// When it expires.
    pub expires: Timestamp,
    /// When it was ended before it expired.
    pub ended: Option<Timestamp>,
}

/// An account of a chat platform that a person linked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedAccount {
    /// The channel's name in the configuration.
    pub channel: String,
    /// The platform's permanent id of the account.
    pub account: String,
    /// The person.
    pub person: String,
    /// The display name on the platform.
    pub called: String,
    /// When it was linked.
    pub linked: Timestamp,
    /// The end of its waiting period; it may approve from then on.
    pub active_from: Timestamp,
    /// When it was unlinked.
    pub ended: Option<Timestamp>,
}

/// A passkey, with which signatures of a person's device are verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    /// The credential id.
    pub credential: Vec<u8>,
    /// The person.
    pub person: String,
    /// The name that the person gave it.
    pub name: String,
    /// The public key.
    pub public_key: Vec<u8>,
    /// The COSE algorithm identifier.
    pub algorithm: i64,
    /// The device's signature counter.
    pub uses: u32,
    /// When it was added.
    pub added: Timestamp,
    /// The end of its waiting period; it may sign from then on.
    pub active_from: Timestamp,
    /// When it last signed.
    pub used: Option<Timestamp>,
    /// When it was removed.
    pub ended: Option<Timestamp>,
}

/// Rows of people, agents and their credentials that the ledger confirms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialRows {
    /// People, also revoked ones.
    pub people: Vec<StoredPerson>,
    /// Agents, also revoked ones.
    pub agents: Vec<StoredAgent>,
    /// Logins that have neither ended nor expired.
    pub logins: Vec<StoredLogin>,
    /// Linked accounts that have not ended.
    pub accounts: Vec<LinkedAccount>,
    /// Passkeys that have not ended.
    pub passkeys: Vec<Passkey>,
    /// Rows that the ledger does not confirm, in words. They are in no other list.
    pub unrecorded: Vec<String>,
    /// Whether the ledger says that there were people, whatever the rows say.
    pub people_in_ledger: bool,
}

/// A browser's Web Push subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushSubscription {
    /// The push service's URL. It is a secret: anyone who knows it can send to it.
    pub endpoint: String,
    /// The person.
    pub person: String,
    /// The browser's P-256 public key, uncompressed.
    pub public_key: Vec<u8>,
    /// The authentication secret shared with the browser.
    pub secret: Vec<u8>,
    /// The display name of the browser.
    pub called: String,
    /// When it was added.
    pub added: Timestamp,
    /// When it was removed.
    pub ended: Option<Timestamp>,
}
