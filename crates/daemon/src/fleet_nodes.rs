//! What the nodes of the fleet reported about themselves: their cards, and what they accept from
//! each sender. Kept in memory: nodes report again and again. A report is a node's own statement.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use serde::Deserialize;

/// The longest report, in bytes.
pub const MAX_REPORT: usize = 64 << 10;

/// A report of a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NodeReport {
    /// Its card.
    pub card: ReportedCard,
    /// What it accepts from a sender that is not in `peers`.
    pub default: AcceptedTasks,
    /// What it accepts from each sender that its rules name.
    pub peers: BTreeMap<String, AcceptedTasks>,
    /// How often a task may have been delegated.
    pub max_depth: u64,
}

/// What a page shows of an agent card.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportedCard {
    /// What the agent does.
    pub description: String,
    /// The version of its program.
    pub version: String,
    /// Where it takes tasks.
    pub supported_interfaces: Vec<ReportedInterface>,
    /// What it takes.
    pub skills: Vec<ReportedSkill>,
}

/// An address of an agent card.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportedInterface {
    /// The address.
    pub url: String,
    /// How it is spoken to.
    pub protocol_binding: String,
    /// The version of the protocol.
    pub protocol_version: String,
}

/// A skill of an agent card.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReportedSkill {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
}

/// What a node accepts from one sender.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedTasks {
    /// Whether the sender may send tasks at all.
    pub allowed: bool,
    /// How many of its tasks may be open.
    pub open_tasks: u64,
    /// How many tasks it may send in a minute.
    pub per_minute: u64,
    /// How many tasks it may send in a day.
    pub per_day: u64,
    /// The highest tier of its tasks; above, they are rejected without asking a person.
    pub max_tier: Option<String>,
    /// The patterns of texts that it may send; any text if there is none.
    pub tasks: Vec<String>,
}

impl NodeReport {
    /// Reads a report; nothing if it is not one.
    pub fn parse(text: &str) -> Option<NodeReport> {
        let report: NodeReport = serde_json::from_str(text).ok()?;
        let known_tier =
            |accepted: &AcceptedTasks| accepted.max_tier.as_deref().is_none_or(is_tier);
        let is_valid = report.peers.values().chain([&report.default]).all(known_tier);
        is_valid.then_some(report)
    }

    /// What the node accepts from this sender.
    pub fn accepted_from(&self, sender: &str) -> &AcceptedTasks {
        self.peers.get(sender).unwrap_or(&self.default)
    }
}

fn is_tier(word: &str) -> bool {
    Tier::parse(word).is_some()
}

/// A report that was accepted.
#[derive(Debug, Clone)]
pub struct AcceptedReport {
    /// When the node signed it.
    pub at: Timestamp,
    /// The serial number of the certificate whose key signed it.
    pub serial: String,
    /// The report.
    pub report: Arc<NodeReport>,
}

/// The newest report of each node, by its name in the certificate.
#[derive(Debug, Default)]
pub struct NodeReports(RwLock<BTreeMap<String, AcceptedReport>>);

impl NodeReports {
    /// Keeps a report, unless a newer one of the same node is kept.
    pub fn keep(&self, agent: &str, new: AcceptedReport) -> bool {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.get(agent).is_some_and(|kept| kept.at >= new.at) {
            return false;
        }
        all.insert(agent.to_owned(), new);
        true
    }

    /// All reports.
    pub fn all(&self) -> BTreeMap<String, AcceptedReport> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
