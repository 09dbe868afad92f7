//! Channels as people see them: how each one does, a test, and the accounts that answer.

use serde::{Deserialize, Serialize};

use crate::agent::segment;
use crate::error::Error;
use crate::people::People;
use crate::time::Time;

/// A channel, and how it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelRecord {
    /// Its name in the settings.
    pub name: String,
    /// `telegram`, `webhook`, …
    pub kind: String,
    /// On which rungs of the usual ladder it stands.
    #[serde(default)]
    pub rungs: Vec<String>,
    /// The gravest tier it may carry.
    #[serde(default)]
    pub max_tier: String,
    /// The gravest tier that can be approved through it; nothing where nobody answers.
    #[serde(default)]
    pub approves: Option<String>,
    /// What an answer through it is worth.
    #[serde(default)]
    pub assurance: Option<String>,
    /// Whether the call itself stands in its messages.
    #[serde(default)]
    pub details: bool,
    /// So many messages in a minute.
    #[serde(default)]
    pub per_minute: u32,
    /// When somebody was last told.
    #[serde(default)]
    pub told: Option<Time>,
    /// When it last failed.
    #[serde(default)]
    pub failed: Option<Time>,
    /// What is wrong with it.
    #[serde(default)]
    pub problem: Option<String>,
    /// The last tap on a test's button.
    #[serde(default)]
    pub tapped: Option<Tapped>,
}

/// A tap on a test's button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tapped {
    /// When.
    pub at: Time,
    /// By whom.
    pub by: String,
}

/// What became of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelTest {
    /// Whether it went out.
    pub sent: bool,
    /// Why it did not.
    #[serde(default)]
    pub problem: Option<String>,
    /// Whether it has a button of its own.
    #[serde(default)]
    pub taps: bool,
}

/// A code that links an account.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCode {
    /// Through which channel.
    pub channel: String,
    /// The code: whoever says it there is this person.
    pub code: String,
    /// What to say there.
    pub say: String,
    /// An address that says it when it is opened.
    #[serde(default)]
    pub open: Option<String>,
    /// Until when.
    pub expires: Time,
}

/// An account that answers for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRecord {
    /// Through which channel.
    pub channel: String,
    /// What the platform calls it.
    pub account: String,
    /// Whose.
    pub person: String,
    /// What it calls itself there.
    #[serde(default)]
    pub called: String,
    /// Since when.
    #[serde(default)]
    pub linked: Option<Time>,
}

impl People {
    /// Every channel.
    pub fn channels(&self) -> Result<Vec<ChannelRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            channels: Vec<ChannelRecord>,
        }
        self.read::<List>("/v1/channels").map(|list| list.channels)
    }

    /// One message through a channel, now.
    pub fn test_channel(&self, name: &str) -> Result<ChannelTest, Error> {
        self.post(&format!("/v1/channels/{}/test", segment(name)?), &serde_json::json!({}))
    }

    /// A code that links one's own account.
    pub fn link_account(&self, channel: &str) -> Result<LinkCode, Error> {
        self.change(&format!("/v1/channels/{}/link", segment(channel)?), &serde_json::json!({}))
    }

    /// One's own accounts; an administrator sees everybody's.
    pub fn accounts(&self) -> Result<Vec<AccountRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            accounts: Vec<AccountRecord>,
        }
        self.read::<List>("/v1/accounts").map(|list| list.accounts)
    }

    /// Ends what an account may say.
    pub fn unlink_account(&self, channel: &str, account: &str) -> Result<(), Error> {
        let path = format!("/v1/accounts/{}/{}", segment(channel)?, segment(account)?);
        self.delete(&path)
    }
}

impl std::fmt::Debug for LinkCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkCode").field("channel", &self.channel).finish_non_exhaustive()
    }
}
