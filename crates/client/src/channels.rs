//! Channels: their status, a test message, and the linked accounts.

use serde::{Deserialize, Serialize};

use crate::encoding::path_segment;
use crate::error::Error;
use crate::people::PeopleClient;
use crate::time::Time;

/// A channel and its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelRecord {
    /// Its name in the configuration.
    pub name: String,
    /// `telegram`, `webhook`, …
    pub kind: String,
    /// The escalation levels that use it by default.
    #[serde(default)]
    pub levels: Vec<String>,
    /// The highest tier that is announced through it.
    #[serde(default)]
    pub max_tier: String,
    /// The highest tier that can be approved through it; `None` if it takes no answers.
    #[serde(default)]
    pub approves: Option<String>,
    /// The assurance of an answer through it.
    #[serde(default)]
    pub assurance: Option<String>,
    /// Whether its messages contain the call.
    #[serde(default)]
    pub details: bool,
    /// The maximum number of messages per minute.
    #[serde(default)]
    pub per_minute: u32,
    /// The time of the last message.
    #[serde(default)]
    pub told: Option<Time>,
    /// The time of the last failure.
    #[serde(default)]
    pub failed: Option<Time>,
    /// The last error.
    #[serde(default)]
    pub problem: Option<String>,
    /// The last tap on the button of a test message.
    #[serde(default)]
    pub tapped: Option<TapRecord>,
}

/// A tap on the button of a test message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapRecord {
    /// When.
    pub at: Time,
    /// Who tapped.
    pub by: String,
}

/// The result of a test message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelTest {
    /// Whether it was sent.
    pub sent: bool,
    /// Why it was not sent.
    #[serde(default)]
    pub problem: Option<String>,
    /// Whether it has a button.
    #[serde(default)]
    pub taps: bool,
}

/// A code that links an account.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCode {
    /// The channel.
    pub channel: String,
    /// The code: the account that sends it is linked to this person.
    pub code: String,
    /// The message to send.
    pub say: String,
    /// A link that sends the message when opened.
    #[serde(default)]
    pub open: Option<String>,
    /// When it expires.
    pub expires: Time,
}

/// An account that answers for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRecord {
    /// The channel.
    pub channel: String,
    /// Its id on the platform.
    pub account: String,
    /// The person.
    pub person: String,
    /// Its display name on the platform.
    #[serde(default)]
    pub called: String,
    /// When it was linked.
    #[serde(default)]
    pub linked: Option<Time>,
}

impl PeopleClient {
    /// All channels.
    pub fn channels(&self) -> Result<Vec<ChannelRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            channels: Vec<ChannelRecord>,
        }
        self.read::<List>("/v1/channels").map(|list| list.channels)
    }

    /// Sends a test message through a channel.
    pub fn test_channel(&self, name: &str) -> Result<ChannelTest, Error> {
        self.post(&format!("/v1/channels/{}/test", path_segment(name)?), &serde_json::json!({}))
    }

    /// Creates a code that links the person's own account.
    pub fn link_account(&self, channel: &str) -> Result<LinkCode, Error> {
        self.change(
            &format!("/v1/channels/{}/link", path_segment(channel)?),
            &serde_json::json!({}),
        )
    }

    /// The person's own accounts; for an administrator, all accounts.
    pub fn accounts(&self) -> Result<Vec<AccountRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            accounts: Vec<AccountRecord>,
        }
        self.read::<List>("/v1/accounts").map(|list| list.accounts)
    }

    /// Unlinks an account.
    pub fn unlink_account(&self, channel: &str, account: &str) -> Result<(), Error> {
        let path = format!("/v1/accounts/{}/{}", path_segment(channel)?, path_segment(account)?);
        self.delete(&path)
    }
}

impl std::fmt::Debug for LinkCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkCode").field("channel", &self.channel).finish_non_exhaustive()
    }
}
