//! Policy rules through the people API: proposed, confirmed, and adopted for a project.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::people::PeopleClient;
use crate::request::RequestRecord;
use crate::time::Time;

/// A project whose rules were adopted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptedProjectRecord {
    /// Its root folder.
    pub folder: String,
    /// SHA-256 of the adopted text, in hex.
    pub digest: String,
    /// Who adopted it.
    pub by: String,
    /// When.
    pub at: Time,
    /// Whether the rules that allow count.
    pub allows: bool,
}

/// All projects whose rules were adopted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptedProjectList {
    /// Those whose rules are known.
    pub projects: Vec<AdoptedProjectRecord>,
    /// The folders of those whose rules were lost.
    #[serde(default)]
    pub lost_projects: Vec<String>,
}

impl PeopleClient {
    /// Confirms the policy rules that wait, by the start of their hash; returns how many rules are
    /// in force.
    pub fn confirm_policy(&self, hash: &str) -> Result<usize, Error> {
        #[derive(Deserialize)]
        struct InForce {
            rules: Vec<serde::de::IgnoredAny>,
        }
        let done: InForce = self.change("/v1/policy", &serde_json::json!({ "hash": hash }))?;
        Ok(done.rules.len())
    }

    /// Proposes rules as Cedar text, in place of those that were proposed before; returns the
    /// request that people decide.
    pub fn propose_policy(&self, rules: &str) -> Result<RequestRecord, Error> {
        self.change("/v1/policy/rules", &serde_json::json!({ "rules": rules }))
    }

    /// The projects whose rules were adopted.
    pub fn adopted_projects(&self) -> Result<AdoptedProjectList, Error> {
        self.read("/v1/policy")
    }

    /// Adopts the rules in the text of a project's file; returns how many there are.
    pub fn adopt_project(&self, folder: &str, text: &str) -> Result<usize, Error> {
        #[derive(Deserialize)]
        struct Adopted {
            rules: usize,
        }
        let body = serde_json::json!({ "folder": folder, "text": text });
        let done: Adopted = self.change("/v1/policy/projects", &body)?;
        Ok(done.rules)
    }

    /// Revokes the adoption of a project's rules.
    pub fn revoke_project(&self, folder: &str) -> Result<(), Error> {
        let body = serde_json::json!({ "folder": folder });
        self.change::<serde_json::Value>("/v1/policy/projects/revoke", &body).map(|_| ())
    }
}
