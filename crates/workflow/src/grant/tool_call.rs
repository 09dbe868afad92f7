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
    /// Only in this folder, if the shown call changes what a relative path names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
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
    /// Its working directory, if it is known.
    folder: Option<String>,
}

impl ShownToolCall {
    /// The call of a card, if the card shows all of it.
    pub fn of_card(card: &Card) -> Option<ShownToolCall> {
        let is_shown = card.hidden.is_empty() && card.folded == 0;
        let arguments = countersign_json::parse(&card.arguments).ok().filter(|_| is_shown)?;
        let profile = CallProfile::of_tool_card(card);
        let arguments = arguments.into_owned();
        let found_in = found_in(&card.reasons);
        let folder = card.cwd.clone();
        Some(ShownToolCall { tool: card.tool.clone(), arguments, profile, found_in, folder })
    }

    /// A call with these arguments, in no known folder.
    pub fn new(arguments: &Value<'_>, seen: &Assessment) -> ShownToolCall {
        let profile = CallProfile::of_tool_call(seen);
        let arguments = arguments.clone().into_owned();
        let found_in = found_in(&seen.reasons);
        ShownToolCall { tool: seen.tool.clone(), arguments, profile, found_in, folder: None }
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
        let (tool, profile) = (shown.tool.clone(), shown.profile.clone());
        let mut shape = ToolCallShape { tool, arguments: conditions, profile, folder: None };
        if !shape.accepts(&shown.arguments) {
            return Err(ShapeError::OtherArguments);
        }
        if shape.depends_on_folder(&shown.arguments, &shown.profile) {
            let folder = shown.folder.clone().filter(|folder| !is_relative(folder));
            shape.folder = Some(folder.ok_or(ShapeError::RelativePath)?);
        }
        Ok(shape)
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
            && self.includes(asked.arguments, &CallProfile::of_tool_call(seen), asked.cwd);
        if fits { Ok(()) } else { Err(NotCovered::OtherCall) }
    }

    /// Whether a call that people saw would have been covered.
    pub fn covers_shown(&self, call: &ShownToolCall) -> bool {
        call.tool == self.tool
            && !is_found_in_free_text(&self.arguments, &call.found_in)
            && self.includes(&call.arguments, &call.profile, call.folder.as_deref())
    }

    fn includes(&self, arguments: &Value<'_>, profile: &CallProfile, folder: Option<&str>) -> bool {
        let named = self.named_texts(arguments);
        let is_named = |entry: &str| named.contains(&entry);
        let is_here = self.folder.is_some() && self.folder.as_deref() == folder;
        self.accepts(arguments)
            && self.profile.includes_tool_call(profile, is_named)
            && (is_here || !self.depends_on_folder(arguments, profile))
    }

    /// Whether a call changes what a relative path names: another file in another folder. Where
    /// the path may be any text, it may name any folder anyway.
    fn depends_on_folder(&self, arguments: &Value<'_>, profile: &CallProfile) -> bool {
        let is_free = |one: &ArgumentConstraint| one.rule == ArgumentRule::AnyText;
        let texts = |one: &ArgumentConstraint| texts_of(arguments.get(&one.member));
        let free: Vec<&str> =
            self.arguments.iter().filter(|one| is_free(one)).flat_map(texts).collect();
        let is_path =
            |one: &&ArgumentConstraint| !is_free(one) && tools::is_path_argument(&one.member);
        let mut named = self.arguments.iter().filter(is_path).flat_map(texts);
        profile.changed_paths().any(|path| is_relative(path) && !free.contains(&path))
            || profile.changes_files() && named.any(is_relative)
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
            for text in texts_of(arguments.get(&one.member)) {
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
        let place = self.folder.as_ref().map_or(String::new(), |folder| format!(" in {folder}"));
        format!("{} with {}{place}", self.tool, conditions.join(", "))
    }
}

/// A text, or the texts of a list.
fn texts_of<'v>(value: Option<&'v Value<'_>>) -> impl Iterator<Item = &'v str> {
    let items = value.and_then(Value::as_array).unwrap_or_default();
    value.into_iter().chain(items).filter_map(Value::as_str)
}

/// Whether a path starts in the working directory, or where a variable says.
fn is_relative(path: &str) -> bool {
    let has_drive =
        path.get(1..).is_some_and(|rest| rest.starts_with(":\\") || rest.starts_with(":/"));
    let is_rooted =
        path.starts_with(['/', '~']) || path.starts_with("\\\\") || path.contains("://");
    !is_rooted && !has_drive
}

#[cfg(test)]
mod tests;
