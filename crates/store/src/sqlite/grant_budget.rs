//! Budgets of grants: their columns, and what ledger entries say of their uses.

use countersign_ledger::entry::Entry;
use countersign_types::id::Id;
use countersign_workflow::grant::{
    BudgetUsed, Grant, GrantBudget, GrantCost, GrantDetails, PlainDecimal,
};

use super::columns::Columns;
use super::errors::corrupt;
use super::grant_facts::text;
use crate::error::{StoreError, StoreResult};

/// The fact of a `used-grant` entry that says how much money the use took.
pub(super) const SPENT: &str = "spent";
/// The fact of a `used-grant` entry with the digests of the recipients that the use reached.
pub(super) const REACHED: &str = "reached";

/// How often a grant was used, and what its uses took from its budget.
#[derive(Debug, Clone, Default)]
pub(super) struct GrantUses {
    pub count: u64,
    pub budget: BudgetUsed,
}

impl GrantUses {
    /// Adds one use.
    pub fn add(&mut self, cost: &GrantCost) {
        self.count = self.count.saturating_add(1);
        self.budget.add(cost);
    }
}

/// The budget of a grant as its column stores it.
pub(super) fn budget_column(details: &GrantDetails) -> StoreResult<Option<String>> {
    let text = details.budget.as_ref().map(serde_json::to_string).transpose();
    text.map_err(|error| StoreError::Invalid(error.to_string()))
}

/// Reads the budget and what was used of it.
pub(super) fn read_budget(
    columns: &mut Columns<'_, '_>,
) -> StoreResult<(Option<GrantBudget>, BudgetUsed)> {
    let budget = columns.next::<Option<String>>()?;
    let budget = budget.map(|text| serde_json::from_str(&text)).transpose();
    let budget = budget.map_err(|error| corrupt(format!("invalid budget: {error}")))?;
    let (spent, reached) = (columns.next::<String>()?, columns.next::<String>()?);
    let spent = PlainDecimal::parse(&spent).ok_or_else(|| corrupt("invalid sum of a grant"))?;
    Ok((budget, BudgetUsed { spent, reached: digests(&reached).collect() }))
}

/// The budget after one more use, as its columns store it.
pub(super) fn charge(grant: &Grant, cost: &GrantCost) -> StoreResult<(String, String)> {
    let used = &grant.details.used;
    let after = match &grant.details.budget {
        None => used.clone(),
        Some(budget) => budget.charge(used, cost).ok_or(StoreError::GrantBudgetExceeded)?,
    };
    let reached: Vec<&str> = after.reached.iter().map(String::as_str).collect();
    Ok((after.spent.to_string(), reached.join(" ")))
}

/// What an entry says that the use of this grant took from its budget. An amount that cannot be
/// read counts as all that a budget can have.
pub(super) fn cost_of(entry: &Entry<'_>, grant: Id) -> GrantCost {
    if text(entry, "grant").and_then(Id::parse) != Some(grant) {
        return GrantCost::default();
    }
    let amount = |text| PlainDecimal::parse(text).unwrap_or(PlainDecimal::MAX);
    GrantCost {
        amount: text(entry, SPENT).map(amount),
        recipients: digests(text(entry, REACHED).unwrap_or_default()).collect(),
    }
}

fn digests(text: &str) -> impl Iterator<Item = String> {
    text.split(' ').filter(|digest| !digest.is_empty()).map(ToOwned::to_owned)
}
