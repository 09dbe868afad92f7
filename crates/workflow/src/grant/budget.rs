//! Budgets of a grant: how much money its uses may take, and how many people they may reach.

use std::collections::BTreeSet;

use countersign_json::Value;
use countersign_json::canonical::Digest;
use serde::{Deserialize, Serialize, Serializer};

use super::argument::number_of;
use super::decimal::PlainDecimal;
use super::recipients::all_recipients;
use super::{Grant, GrantQuery, NotCovered};

/// The longest name of an argument or a currency, in bytes.
const MAX_NAME: usize = 100;
/// How much of the digest of a recipient is kept, in hexadecimal digits.
const REACHED_DIGITS: usize = 32;

/// How much money the uses of a grant may take in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpendLimit {
    /// The argument that is the amount.
    pub member: String,
    /// The currency that a call must name. Without one, a call may name none.
    pub currency: Option<String>,
    /// The sum of all amounts.
    pub limit: PlainDecimal,
}

/// What the uses of a grant may take in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantBudget {
    /// The money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spend: Option<SpendLimit>,
    /// How many different people or addresses may be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipients: Option<u32>,
}

/// What one use of a grant takes from its budget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantCost {
    /// The amount of money, if the budget limits it.
    pub amount: Option<PlainDecimal>,
    /// Digests of the recipients, if the budget limits them.
    pub recipients: Vec<String>,
}

/// What the uses of a grant took from its budget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BudgetUsed {
    /// The money.
    pub spent: PlainDecimal,
    /// Digests of the recipients.
    #[serde(rename = "recipients", serialize_with = "serialize_count")]
    pub reached: BTreeSet<String>,
}

fn serialize_count<S: Serializer>(reached: &BTreeSet<String>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(reached.len() as u64)
}

impl SpendLimit {
    /// Reads `amount:USD:500`, or `amount:500` for calls that name no currency.
    pub fn parse(text: &str) -> Result<SpendLimit, String> {
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let (member, currency, limit) = match parts.as_slice() {
            [member, limit] => (*member, None, *limit),
            [member, currency, limit] => (*member, Some(*currency), *limit),
            _ => ("", None, ""),
        };
        let is_name = |name: &str| (1..=MAX_NAME).contains(&name.len());
        let is_currency =
            |name: &str| is_name(name) && name.bytes().all(|b| b.is_ascii_alphanumeric());
        let limit = PlainDecimal::parse(limit);
        match limit.filter(|_| is_name(member) && currency.is_none_or(is_currency)) {
            Some(limit) => Ok(SpendLimit {
                member: member.to_owned(),
                currency: currency.map(str::to_ascii_uppercase),
                limit,
            }),
            None => Err(format!(
                "`{text}` is not a budget; use ARGUMENT:CURRENCY:LIMIT, such as amount:USD:500"
            )),
        }
    }

    /// The amount of a call. Every amount of money that the assessment found must be this one, in
    /// this currency.
    fn amount(&self, asked: &GrantQuery<'_>) -> Option<PlainDecimal> {
        let value = asked.arguments.get(&self.member)?;
        let amount = number_of(value)?;
        let wanted = self.currency.as_deref();
        let is_wanted = |found: Option<&str>| match (wanted, found) {
            (None, None) => true,
            (Some(wanted), Some(found)) => wanted.eq_ignore_ascii_case(found),
            _ => false,
        };
        let found = &asked.assessment.impact.money;
        let is_this = found.iter().all(|money| {
            PlainDecimal::parse(&money.amount) == Some(amount)
                && (money.currency.is_none() || is_wanted(money.currency.as_deref()))
        });
        let mut named = named_currencies(asked.arguments).peekable();
        let in_currency = match wanted {
            None => named.peek().is_none() && found.iter().all(|money| money.currency.is_none()),
            Some(_) => {
                named.peek().is_some() && named.all(|name| name.is_some() && is_wanted(name))
            }
        };
        (is_this && found.len() <= 1 && in_currency).then_some(amount)
    }
}

/// The texts of all arguments that name a currency; none for one that is no text.
fn named_currencies<'v>(arguments: &'v Value<'_>) -> impl Iterator<Item = Option<&'v str>> {
    let members = arguments.as_object().unwrap_or_default();
    members
        .iter()
        .filter(|(name, _)| name.to_ascii_lowercase().contains("currency"))
        .map(|(_, value)| value.as_str())
}

impl GrantBudget {
    /// What was used after one more use; none if that is more than the budget, or if the cost is
    /// not known.
    pub fn charge(&self, used: &BudgetUsed, cost: &GrantCost) -> Option<BudgetUsed> {
        let mut after = used.clone();
        if let Some(spend) = &self.spend {
            after.spent = after.spent.checked_add(cost.amount?)?;
            if after.spent > spend.limit {
                return None;
            }
        }
        if let Some(most) = self.recipients {
            after.reached.extend(cost.recipients.iter().cloned());
            if cost.recipients.is_empty() || after.reached.len() as u64 > u64::from(most) {
                return None;
            }
        }
        Some(after)
    }
}

impl BudgetUsed {
    /// Whether nothing was used.
    pub fn is_empty(&self) -> bool {
        *self == BudgetUsed::default()
    }

    /// Whether it has at least what another one has.
    pub fn includes(&self, other: &BudgetUsed) -> bool {
        self.spent >= other.spent && self.reached.is_superset(&other.reached)
    }

    /// Adds what one use took. A sum that is too large counts as all that a budget can have.
    pub fn add(&mut self, cost: &GrantCost) {
        if let Some(amount) = cost.amount {
            self.spent = self.spent.checked_add(amount).unwrap_or(PlainDecimal::MAX);
        }
        self.reached.extend(cost.recipients.iter().cloned());
    }
}

impl Grant {
    /// What a call takes from the budget. It is an error if that is not known.
    pub fn cost(&self, asked: &GrantQuery<'_>) -> Result<GrantCost, NotCovered> {
        let mut cost = GrantCost::default();
        let Some(budget) = &self.details.budget else { return Ok(cost) };
        if let Some(spend) = &budget.spend {
            cost.amount = Some(spend.amount(asked).ok_or(NotCovered::UnknownCost)?);
        }
        if budget.recipients.is_some() {
            let reached = all_recipients(&self.shape, asked).ok_or(NotCovered::UnknownCost)?;
            cost.recipients = reached.iter().map(|name| self.reached_digest(name)).collect();
        }
        // A call that alone costs more than the budget is not covered.
        match budget.charge(&BudgetUsed::default(), &cost) {
            Some(_) => Ok(cost),
            None => Err(NotCovered::UnknownCost),
        }
    }

    /// The digest of a recipient, for this grant alone. The ledger has no address in plain text,
    /// but a reader of the ledger can try addresses: the digest has no secret part.
    fn reached_digest(&self, recipient: &str) -> String {
        let text = format!("{} {}", self.id, recipient.trim().to_lowercase());
        Digest::of(text.as_bytes()).to_string().chars().take(REACHED_DIGITS).collect()
    }

    /// What was used of the budget, in words.
    pub fn budget_words(&self) -> Vec<String> {
        let Some(budget) = &self.details.budget else { return Vec::new() };
        let used = &self.details.used;
        let spend = budget.spend.as_ref().map(|spend| {
            let currency =
                spend.currency.as_deref().map_or(String::new(), |name| format!(" {name}"));
            format!("{} of {}{currency} spent ({})", used.spent, spend.limit, spend.member)
        });
        let people =
            budget.recipients.map(|most| format!("{} of {most} recipients", used.reached.len()));
        spend.into_iter().chain(people).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> PlainDecimal {
        PlainDecimal::parse(text).unwrap()
    }

    #[test]
    fn a_budget_is_never_exceeded_and_an_unknown_cost_is_refused() {
        let spend = SpendLimit::parse("amount:usd:0.3").unwrap();
        assert_eq!(spend.currency.as_deref(), Some("USD"));
        let money = GrantBudget { spend: Some(spend), recipients: None };
        let cost = |text: &str| GrantCost { amount: Some(number(text)), ..GrantCost::default() };
        let used = money.charge(&BudgetUsed::default(), &cost("0.1")).unwrap();
        let used = money.charge(&used, &cost("0.2")).unwrap();
        assert_eq!(used.spent, number("0.3"));
        assert_eq!(money.charge(&used, &cost("0.000000001")), None);
        assert_eq!(money.charge(&BudgetUsed::default(), &GrantCost::default()), None);
        let people = GrantBudget { spend: None, recipients: Some(2) };
        let to = |names: &[&str]| GrantCost {
            amount: None,
            recipients: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let used = people.charge(&BudgetUsed::default(), &to(&["a", "b"])).unwrap();
        assert!(people.charge(&used, &to(&["b"])).is_some());
        assert_eq!(people.charge(&used, &to(&["c"])), None);
        assert_eq!(people.charge(&used, &to(&[])), None);
    }

    #[test]
    fn unclear_limits_are_rejected() {
        for text in ["", "amount", "amount:", ":5", "amount:USD:", "amount:USD:-5", "a:USD:1e3"] {
            assert!(SpendLimit::parse(text).is_err(), "{text}");
        }
        for text in ["a:US D:5", "a:b:c:5", "amount:USD:1,000"] {
            assert!(SpendLimit::parse(text).is_err(), "{text}");
        }
        assert_eq!(SpendLimit::parse("amount:500").unwrap().currency, None);
    }
}
