//! What a person says who approves parts of a compound command.

use super::scope::ApprovalScope;
use crate::assurance::{Authority, RequiredAssurance};
use crate::grant::{Grant, GrantShape};
use countersign_json::canonical::{CallDigest, Digest};
use countersign_types::tier::Tier;

/// A person's approval of some parts of a command.
#[derive(Debug, Clone)]
pub struct PartsAnswer {
    /// The authenticated person.
    pub person: String,
    /// The digest of the whole call that the person was shown.
    pub seen: CallDigest,
    /// Through which channel.
    pub channel: String,
    /// What the agent is told: which parts are approved, which are not.
    pub told: String,
    /// Why; CRITICAL parts require it.
    pub reason: String,
    /// The word that the person typed from the two words of the whole call.
    pub word: String,
    /// For how long the parts are approved.
    pub scope: ApprovalScope,
    /// The person's authority, and what the current rules require.
    pub standing: (Authority, RequiredAssurance),
    /// The riskiest approved part.
    pub tier: Tier,
    /// How many people must approve the riskiest part.
    pub people: u8,
    /// A grant for each approved part that asks.
    pub grants: Vec<Grant>,
}

impl PartsAnswer {
    /// The keys of the approved parts: this denial of the whole does not end approvals of them.
    pub fn keys(&self) -> Vec<Digest> {
        let parts = self.grants.iter().filter_map(|grant| match &grant.shape {
            GrantShape::Part(part) => Some(part),
            _ => None,
        });
        parts.flat_map(|part| std::iter::once(part.key).chain(part.keys.iter().copied())).collect()
    }
}
