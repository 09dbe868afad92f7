//! What a grant has besides its shape: its text, its limits and its last use.

use serde::Serialize;

use countersign_types::time::Timestamp;

use super::budget::{BudgetUsed, GrantBudget};

/// Text, limits and last use of a grant. A member without a value is not part of the grant's
/// recorded content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GrantDetails {
    /// The call of an exact grant, redacted, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// How many calls it covers in an hour, if limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<u32>,
    /// When it covered a call last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Timestamp>,
    /// How much its uses may take in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<GrantBudget>,
    /// How much its uses took of the budget.
    #[serde(skip_serializing_if = "BudgetUsed::is_empty")]
    pub used: BudgetUsed,
}
