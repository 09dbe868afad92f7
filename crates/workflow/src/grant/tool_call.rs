//! Grants for calls of a named tool whose arguments fulfil conditions.

use countersign_json::Value;
use countersign_risk::assess::{Assessment, Reason};
use countersign_risk::card::Card;
use countersign_risk::tools;
use countersign_types::tier::Tier;
use serde::{Deserialize, Serialize};

use super::argument::{ArgumentConstraint, ArgumentRule};
use super::profile::CallProfile;
use super::{GrantQuery, NotCovered, ShapeError};

/// Reasons that an argument has because of what it is for, not because of its text.
const EXPECTED: [&str; 2] = ["tool.recipient", "tool.amount"];

/// Calls of one tool. Every argument of a call must be named, and the call must do no more than
/// the one that was shown: no higher tier, and no reason, effect or target that was not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCallShape {
    /// The tool.
    pub tool: String,
    /// All arguments that a call may have.
    pub arguments: Vec<ArgumentConstraint>,
    /// What the call does that was shown.
    pub profile: CallProfile,
}

/// A call of a tool that people saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownToolCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value<'static>,
    /// What it does.
    pub profile: CallProfile,
    /// The arguments in which the assessment found more than a recipient or an amount.
    found_in: Vec<String>,
}

impl ShownToolCall {
    /// The call of a card, if the card shows all of it.
    pub fn of_card(card: &Card) -> Option<ShownToolCall> {
        let is_shown = card.hidden.is_empty() && card.folded == 0;
        let arguments = countersign_json::parse(&card.arguments).ok().filter(|_| is_shown)?;
        let profile = CallProfile::of_tool_card(card);
        let arguments = arguments.into_owned();
        let found_in = found_in(&card.reasons);
        Some(ShownToolCall { tool: card.tool.clone(), arguments, profile, found_in })
    }

    /// A call with these arguments.
    pub fn new(arguments: &Value<'_>, seen: &Assessment) -> ShownToolCall {
        let profile = CallProfile::of_tool_call(seen);
        let arguments = arguments.clone().into_owned();
        let found_in = found_in(&seen.reasons);
        ShownToolCall { tool: seen.tool.clone(), arguments, profile, found_in }
    }
}

/// The arguments that reasons are about, except recipients and amounts.
fn found_in(reasons: &[Reason]) -> Vec<String> {
    let is_expected = |reason: &&Reason| EXPECTED.contains(&&*reason.code);
    let pointers = reasons.iter().filter(|reason| !is_expected(reason)).map(|one| &*one.argument);
    let names = pointers.filter_map(|pointer| pointer.strip_prefix('/')?.split('/').next());
    names.map(ToOwned::to_owned).collect()
}

/// Whether one of these arguments may be any text. The profile compares only the codes of reasons:
/// one that the shown call had in another argument would let it pass here.
fn is_found_in_free_text(conditions: &[ArgumentConstraint], found_in: &[String]) -> bool {
    let is_free = |one: &&ArgumentConstraint| one.rule == ArgumentRule::AnyText;
    conditions.iter().filter(is_free).any(|one| found_in.contains(&one.member))
}

/// Arguments that fulfil all conditions.
pub fn example_arguments(conditions: &[ArgumentConstraint]) -> Value<'static> {
    let member = |one: &ArgumentConstraint| (one.member.clone().into(), one.example());
    Value::Object(conditions.iter().map(member).collect())
}

impl ToolCallShape {
    /// A grant for calls like the shown one. Arguments without a condition must stay as shown.
    pub fn new(
        shown: &ShownToolCall,
        mut conditions: Vec<ArgumentConstraint>,
    ) -> Result<ToolCallShape, ShapeError> {
        if tools::runs_programs(&shown.tool, &shown.arguments) {
            return Err(ShapeError::RunsPrograms);
        }
        if shown.profile.tier().is_none_or(|tier| tier > Tier::Medium) {
            return Err(ShapeError::AboveMedium);
        }
        if !shown.profile.may_have_conditions() {
            return Err(ShapeError::ExactToolCall);
        }
        // A command in the shown text would let every command in that text pass.
        if is_found_in_free_text(&conditions, &shown.found_in) {
            return Err(ShapeError::FoundInText);
        }
        let members = shown.arguments.as_object().ok_or(ShapeError::OtherArguments)?;
        for (name, value) in members {
            if conditions.iter().all(|one| one.member != **name) {
                let exactly = ArgumentConstraint::exactly(name, value);
                conditions.push(exactly.ok_or(ShapeError::OtherArguments)?);
            }
        }
        conditions.sort_by(|a, b| a.member.cmp(&b.member));
        let profile = shown.profile.clone();
        let shape = ToolCallShape { tool: shown.tool.clone(), arguments: conditions, profile };
        if shape.accepts(&shown.arguments) { Ok(shape) } else { Err(ShapeError::OtherArguments) }
    }

    /// Whether a call is covered. The error says why not.
    pub(super) fn covers(&self, asked: &GrantQuery<'_>) -> Result<(), NotCovered> {
        let seen = asked.assessment;
        if seen.tool != self.tool {
            return Err(NotCovered::OtherCall);
        }
        if seen.tier > Tier::Medium {
            return Err(NotCovered::TierTooHigh);
        }
        if tools::runs_programs(&self.tool, asked.arguments) {
            return Err(NotCovered::RunsPrograms);
        }
        let fits = !seen.trace.runs_scripts()
            && !is_found_in_free_text(&self.arguments, &found_in(&seen.reasons))
            && self.includes(asked.arguments, &CallProfile::of_tool_call(seen));
        if fits { Ok(()) } else { Err(NotCovered::OtherCall) }
    }

    /// Whether a call that people saw would have been covered.
    pub fn covers_shown(&self, call: &ShownToolCall) -> bool {
        call.tool == self.tool
            && !is_found_in_free_text(&self.arguments, &call.found_in)
            && self.includes(&call.arguments, &call.profile)
    }

    fn includes(&self, arguments: &Value<'_>, profile: &CallProfile) -> bool {
        let named = self.named_texts(arguments);
        let is_named = |entry: &str| named.contains(&entry);
        self.accepts(arguments) && self.profile.includes_tool_call(profile, is_named)
    }

    /// Whether every argument is named and is what its condition says.
    fn accepts(&self, arguments: &Value<'_>) -> bool {
        let Some(members) = arguments.as_object() else { return false };
        let condition = |name: &str| self.arguments.iter().find(|one| one.member == name);
        members.iter().all(|(name, value)| condition(name).is_some_and(|one| one.accepts(value)))
            && self.arguments.iter().all(|one| one.optional || arguments.get(&one.member).is_some())
    }

    /// The texts of a call that a condition accepts, and the addresses in them. What the call
    /// touches under such a name, a person has named.
    fn named_texts<'v>(&self, arguments: &'v Value<'_>) -> Vec<&'v str> {
        let mut found = Vec::new();
        for one in &self.arguments {
            let value = arguments.get(&one.member);
            let items = value.and_then(Value::as_array).unwrap_or_default();
            for text in value.into_iter().chain(items).filter_map(Value::as_str) {
                found.push(text);
                found.extend(text.split([',', ';']).map(str::trim));
            }
        }
        found
    }

    /// Whether the shown call names an amount of money, so that the grant needs a budget for it.
    pub fn moves_money(&self) -> bool {
        self.profile.names_money()
    }

    /// Whether calls always have this argument.
    pub fn has_argument(&self, member: &str) -> bool {
        self.arguments.iter().any(|one| one.member == member && !one.optional)
    }

    /// In words: the tool and its arguments.
    pub fn words(&self) -> String {
        if self.arguments.is_empty() {
            return format!("{} without arguments", self.tool);
        }
        let conditions: Vec<String> =
            self.arguments.iter().map(ArgumentConstraint::words).collect();
        format!("{} with {}", self.tool, conditions.join(", "))
    }
}

#[cfg(test)]
mod tests;
