//! What tools work on unless they are told otherwise: accounts, clusters, machines.

use serde::{Deserialize, Serialize};

use crate::name_lists::{DEVELOPMENT_WORDS, LOCAL_CONTEXTS, PRODUCTION_WORDS, STAGING_WORDS};

/// A system whose tools remember what they work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemoteSystem {
    /// The current context of `kubectl` and `helm`.
    Kubernetes,
    /// The current context of `docker`.
    Docker,
    /// The profile of `aws`.
    Aws,
    /// The configuration of `gcloud`.
    GoogleCloud,
}

/// What a tool works on unless it is told otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentFact {
    /// The name of the context, profile or configuration.
    pub name: String,
    /// What the name says about the environment.
    pub environment: Option<LikelyEnvironment>,
}

/// What the name of a context, profile or cluster says. A person chose the words, so it can
/// raise a tier; only `Local` is more than a guess, because tools give those names themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LikelyEnvironment {
    /// A cluster or engine on this machine.
    Local,
    /// Development or tests.
    Development,
    /// Staging, or another copy of production.
    Staging,
    /// Production.
    Production,
}

impl LikelyEnvironment {
    /// The environment that a name suggests. The most severe word counts: `prod-test` is
    /// production.
    pub fn of(name: &str) -> Option<LikelyEnvironment> {
        let words_of = [
            (PRODUCTION_WORDS, LikelyEnvironment::Production),
            (STAGING_WORDS, LikelyEnvironment::Staging),
            (DEVELOPMENT_WORDS, LikelyEnvironment::Development),
        ];
        let name = name.to_ascii_lowercase();
        let words = || name.split(|c: char| !c.is_ascii_alphabetic());
        let said = words_of.iter().find(|(known, _)| words().any(|word| known.contains(&word)));
        if let Some((_, environment)) = said {
            return Some(*environment);
        }
        let local = LOCAL_CONTEXTS.iter().any(|known| match known.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *known,
        });
        local.then_some(LikelyEnvironment::Local)
    }
}
