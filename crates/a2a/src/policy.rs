//! What each peer may ask of this node: a file in TOML, with a default and one section per peer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use countersign_store::{TaskLimit, TaskLimits};
use countersign_text::glob;
use countersign_types::tier::Tier;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::A2aError;

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;

/// Why a policy file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {1}")]
pub struct PeerPolicyError(PathBuf, String);

/// What one peer may ask. What a section leaves out, the default says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerPolicy {
    /// Whether it may send tasks at all.
    pub allowed: Option<bool>,
    /// How many of its tasks may be open.
    pub open_tasks: Option<u64>,
    /// How many tasks it may send in a minute.
    pub per_minute: Option<u64>,
    /// How many tasks it may send in a day.
    pub per_day: Option<u64>,
    /// The highest tier that its tasks may have; others are rejected without asking a person.
    pub max_tier: Option<String>,
    /// Patterns with `*` for the whole text of a task; without any, every text is possible.
    pub tasks: Option<Vec<String>>,
}

/// The policies of all peers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerPolicies {
    /// For peers without a section, and for what a section leaves out.
    #[serde(default)]
    pub default: PeerPolicy,
    /// By the name in the certificate.
    #[serde(default)]
    pub peer: BTreeMap<String, PeerPolicy>,
}

/// The limits of one peer, with every default filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerLimits {
    /// Whether it may send tasks at all.
    pub allowed: bool,
    /// How many of its tasks may be open.
    pub open_tasks: u64,
    /// How many tasks it may send in a minute.
    pub per_minute: u64,
    /// How many tasks it may send in a day.
    pub per_day: u64,
    /// The highest tier of its tasks.
    pub max_tier: Option<Tier>,
    tasks: Vec<String>,
}

impl PeerPolicies {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<PeerPolicies, PeerPolicyError> {
        let bad = |why: String| PeerPolicyError(file.to_owned(), why);
        let text = fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
        PeerPolicies::parse(&text).map_err(bad)
    }

    fn parse(text: &str) -> Result<PeerPolicies, String> {
        let found: PeerPolicies = toml::from_str(text).map_err(|error| error.to_string())?;
        for policy in found.peer.values().chain([&found.default]) {
            if let Some(tier) =
                policy.max_tier.as_deref().filter(|word| Tier::parse(word).is_none())
            {
                return Err(format!("`{tier}` is not a tier; use SAFE to CRITICAL"));
            }
        }
        Ok(found)
    }

    /// The limits of a peer.
    pub fn limits(&self, peer: &str) -> PeerLimits {
        let empty = PeerPolicy::default();
        let (own, all) = (self.peer.get(peer).unwrap_or(&empty), &self.default);
        let tier = own.max_tier.as_deref().or(all.max_tier.as_deref());
        PeerLimits {
            allowed: own.allowed.or(all.allowed).unwrap_or(true),
            open_tasks: own.open_tasks.or(all.open_tasks).unwrap_or(64),
            per_minute: own.per_minute.or(all.per_minute).unwrap_or(60),
            per_day: own.per_day.or(all.per_day).unwrap_or(1000),
            max_tier: tier.and_then(Tier::parse),
            tasks: own.tasks.clone().or_else(|| all.tasks.clone()).unwrap_or_default(),
        }
    }
}

impl PeerLimits {
    /// As JSON, for people.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "allowed": self.allowed, "open_tasks": self.open_tasks, "per_minute": self.per_minute,
            "per_day": self.per_day, "max_tier": self.max_tier.map(Tier::label),
            "tasks": self.tasks,
        })
    }

    /// The limits of numbers, for a message that arrives at this time.
    pub(crate) fn counted(&self, at: i64) -> TaskLimits {
        TaskLimits {
            open: self.open_tasks,
            minute: (at.saturating_sub(MINUTE), self.per_minute),
            day: (at.saturating_sub(DAY), self.per_day),
        }
    }

    /// What the sender of a message that reached a limit is told.
    pub(crate) fn refusal(&self, peer: &str, limit: TaskLimit) -> A2aError {
        A2aError::TooMany(match limit {
            TaskLimit::Open(count) => format!("{count} tasks of {peer} are open already"),
            TaskLimit::Minute => format!("{peer} may send {} tasks in a minute", self.per_minute),
            TaskLimit::Day => format!("{peer} may send {} tasks in a day", self.per_day),
        })
    }

    /// Whether the peer may send a task with this text.
    pub fn permits(&self, text: &str) -> bool {
        self.allowed
            && (self.tasks.is_empty()
                || self.tasks.iter().any(|pattern| glob::matches(pattern, text.trim())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_overrides_the_default_and_nothing_else_is_accepted() {
        let text = "[default]\nallowed = false\nper_day = 5\n[peer.alice]\nallowed = true\n\
                    max_tier = \"MEDIUM\"\ntasks = [\"summarize *\"]\n";
        let policies = PeerPolicies::parse(text).unwrap();
        let alice = policies.limits("alice");
        assert!(alice.permits("summarize the issues"));
        assert!(!alice.permits("delete the issues") && !alice.permits("x summarize the issues"));
        assert_eq!((alice.per_day, alice.max_tier), (5, Some(Tier::Medium)));
        assert!(!policies.limits("mallory").permits("summarize the issues"));
        assert!(PeerPolicies::default().limits("anyone").permits("anything"));
        for bad in ["x = 1", "[peer.a]\nmax_tiers = \"LOW\"", "[default]\nmax_tier = \"huge\""] {
            assert!(PeerPolicies::parse(bad).is_err(), "{bad}");
        }
    }
}
