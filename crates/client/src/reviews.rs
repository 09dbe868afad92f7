//! Reviews of calls that ran first, and what people say about calls that ran.

use serde::{Deserialize, Serialize};

use crate::encoding::path_segment;
use crate::error::Error;
use crate::people::PeopleClient;
use crate::time::Time;

/// The review of a call that ran before a person looked at it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewRecord {
    /// The request of the call.
    pub id: String,
    /// `open`, `kept`, `rolled_back` or how else it ended.
    pub state: String,
    /// The agent.
    pub agent: String,
    /// What the call did, in one sentence.
    pub brief: String,
    /// How many files it may have changed.
    pub files: u64,
    /// Until when a person can look.
    pub until: Time,
    /// Who ended it.
    #[serde(default)]
    pub person: Option<String>,
    /// What is to be known about its end.
    #[serde(default)]
    pub note: Option<String>,
}

/// What the daemon stored about a call that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackRecord {
    /// The request.
    pub request: String,
    /// Whether it was right.
    pub right: bool,
    /// The learned grants that ended with it.
    #[serde(default)]
    pub revoked: Vec<String>,
}

impl PeopleClient {
    /// The open reviews; all of the last week if `all`.
    pub fn reviews(&self, all: bool) -> Result<Vec<ReviewRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            reviews: Vec<ReviewRecord>,
        }
        let path = if all { "/v1/reviews?all=true" } else { "/v1/reviews" };
        self.read::<List>(path).map(|list| list.reviews)
    }

    /// One review with what changed, as the daemon shows it.
    pub fn review(&self, id: &str) -> Result<serde_json::Value, Error> {
        self.read(&format!("/v1/reviews/{}", path_segment(id)?))
    }

    /// Keeps what a call changed.
    pub fn keep_review(&self, id: &str) -> Result<ReviewRecord, Error> {
        let path = format!("/v1/reviews/{}/decision", path_segment(id)?);
        self.post(&path, &serde_json::json!({ "choice": "keep" }))
    }

    /// Restores the files that a call changed; with `force` also those that changed since then.
    pub fn roll_back_review(&self, id: &str, force: bool) -> Result<ReviewRecord, Error> {
        let path = format!("/v1/reviews/{}/decision", path_segment(id)?);
        self.post(&path, &serde_json::json!({ "choice": "roll_back", "force": force }))
    }

    /// Says whether a call that ran was right.
    pub fn give_feedback(&self, id: &str, right: bool) -> Result<FeedbackRecord, Error> {
        let path = format!("/v1/requests/{}/feedback", path_segment(id)?);
        self.post(&path, &serde_json::json!({ "right": right }))
    }

    /// The hash of the settings that wait, and what they change; none if none wait.
    pub fn waiting_config(&self) -> Result<Option<(String, Vec<String>)>, Error> {
        #[derive(serde::Deserialize)]
        struct Waiting {
            hash: String,
            changes: Vec<String>,
        }
        #[derive(serde::Deserialize)]
        struct Config {
            requested: Option<Waiting>,
        }
        let found: Config = self.read("/v1/config")?;
        Ok(found.requested.map(|waiting| (waiting.hash, waiting.changes)))
    }

    /// Confirms the settings that wait, by their hash. Returns the daemon's settings.
    pub fn confirm_config(&self, hash: &str) -> Result<serde_json::Value, Error> {
        self.change("/v1/config", &serde_json::json!({ "hash": hash }))
    }
}
