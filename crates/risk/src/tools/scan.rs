//! Readings that no tool's name can switch off: what leaves, what is ordered, what is run.

use std::borrow::Cow;

use super::arguments::{DEEPEST, Reader, guessed};
use super::autorun::AUTORUN_DANGERS;
use super::place::Place;
use super::table::{self, Class, Role, Strength};
use super::{name, text};
use crate::context::Context;
use crate::effect::Effect;
use crate::finding::{Finding, Findings};
use crate::name_lists::{MESSAGE_ARGUMENTS, OFF_VALUES, PROSE_WORDS};
use crate::structural_findings;
use countersign_json::Value;
use countersign_types::tier::Tier;

impl Reader<'_, '_> {
    /// Looks at every value of a call. `served` is a tool whose contract is only its server's word;
    /// `is_content` names the arguments that are written into files.
    pub(super) fn scan(
        &mut self,
        arguments: &Value<'_>,
        served: bool,
        is_content: &dyn Fn(&str) -> bool,
    ) {
        if !self.outward && !served {
            return;
        }
        let Value::Object(members) = arguments else { return };
        // The name says that it only looks; a recipient with a message says that it sends.
        let sends = served && self.looks && sends(members);
        self.looks &= !sends;
        for (key, value) in members {
            if sends && guessed(key) == Some(Role::Recipient) {
                let place = Place { parent: None, key, index: None, depth: 0 };
                self.read(Role::Recipient, value, &place);
            }
            let place = Place { parent: None, key, index: None, depth: 0 };
            self.scan_value(value, &place, served && !is_content(key));
        }
    }

    fn scan_value(&mut self, value: &Value<'_>, place: &Place<'_>, served: bool) {
        if place.depth > DEEPEST {
            self.unreadable();
            return;
        }
        match value {
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) => {
                if served && is_switch(place.key) {
                    self.placed(place, |reader| reader.switch(value));
                }
            }
            Value::String(text) => self.placed(place, |reader| {
                reader.leak(text);
                if served {
                    reader.scan_text(text, place.key);
                }
            }),
            Value::Array(list) => {
                if served && !list.is_empty() && is_switch(place.key) {
                    self.placed(place, |reader| reader.switch(value));
                }
                for (index, item) in list.iter().enumerate() {
                    self.scan_value(item, &place.item(index), served);
                }
            }
            Value::Object(members) => {
                for (key, item) in members {
                    let inner =
                        Place { parent: Some(place), key, index: None, depth: place.depth + 1 };
                    self.scan_value(item, &inner, served);
                }
            }
        }
    }

    fn scan_text(&mut self, text: &str, key: &str) {
        if is_switch(key) {
            self.switch(&Value::String(text.into()));
        }
        if guessed(key) == Some(Role::Action) {
            self.action(text);
        }
        if text::is_graphql_change(text) {
            self.out.effect(Effect::Remote);
            self.out.irreversible();
            self.out.add(structural_findings::GRAPHQL_MUTATION.finding());
        }
        // The rest can only raise a call that would pass.
        if self.out.tier() >= Tier::Medium || !text::says_something(text) {
            return;
        }
        if crate::sql::looks_like_sql(text) {
            crate::sql::read(text, 0, &self.ctx, self.out);
        } else if is_dangerous(text, &self.ctx, Tier::High) {
            self.out.add(structural_findings::COMMAND_IN_VALUE.finding());
        }
    }

    /// A switch such as `force_delete` is on.
    pub(super) fn switch(&mut self, value: &Value<'_>) {
        let on = match value {
            Value::Bool(on) => *on,
            Value::Number(digits) => digits.as_ref() != "0",
            // `delete: "user-1"` says what is deleted.
            Value::String(text) => {
                !OFF_VALUES.iter().any(|off| text.trim().eq_ignore_ascii_case(off))
            }
            Value::Array(list) => !list.is_empty(),
            Value::Null | Value::Object(_) => false,
        };
        if !on {
            return;
        }
        if self.class == Some(Class::Delete) {
            self.sweep(&Value::Bool(true));
            return;
        }
        let message = "A switch is on that makes the tool delete or replace things.";
        self.out.add(Finding::pattern("tool.destructive_switch", Tier::Medium, message));
    }

    /// What a button or link says that is clicked.
    pub(super) fn label(&mut self, text: &str) {
        let words = name::words(text);
        for word in words.split(' ').take(24) {
            let Some((verb, strength)) = table::verb(word) else { continue };
            let acts = match verb.class {
                Class::Money => true,
                Class::Delete | Class::Grant | Class::Send => strength == Strength::Strong,
                _ => false,
            };
            if acts {
                for effect in verb.effects {
                    self.out.effect(*effect);
                }
                self.out.irreversible();
                let tier = verb.tier.max(Tier::Medium);
                self.out.add(Finding::pattern(verb.code, tier, verb.message));
            }
        }
    }
}

/// Whether arguments have both a recipient and a message for them.
fn sends(members: &[(Cow<'_, str>, Value<'_>)]) -> bool {
    let given = |wanted: &dyn Fn(&str) -> bool| {
        members.iter().any(|(key, value)| wanted(key) && !value.is_null())
    };
    let message = |key: &str| MESSAGE_ARGUMENTS.contains(&name::compact(key).as_str());
    given(&|key| guessed(key) == Some(Role::Recipient)) && given(&message)
}

/// Whether an argument's name is that of a destructive switch: `force`, `purge`, `delete_after`.
fn is_switch(key: &str) -> bool {
    if table::argument(&name::compact(key)) == Some(Role::Switch) {
        return true;
    }
    let words = name::words(key);
    let deletes = |word: &str| {
        table::verb(word).filter(|(verb, _)| verb.class == Class::Delete).map(|(verb, _)| verb.tier)
    };
    // `remove` alone is an order; `remove_duplicates` only shapes what is shown.
    let order =
        |word: &str| deletes(word) >= Some(Tier::High) || matches!(word, "delete" | "erase");
    deletes(&words).is_some() || words.split(' ').any(order)
}

/// Whether a text, read as a command, is of this tier or does what no text should say by accident.
/// Words alone are prose: `John Doe` names a person, although `john` is a program.
pub(super) fn is_dangerous(text: &str, ctx: &Context<'_>, least: Tier) -> bool {
    let technical = text.contains(|c: char| "/|;&$`<>".contains(c))
        || text.split_whitespace().any(|word| word.starts_with('-'));
    if !technical {
        return false;
    }
    let mut seen = Findings::default();
    crate::command_text::read(text, ctx, &mut seen);
    let listed = |code: &str| AUTORUN_DANGERS.iter().any(|start| code.starts_with(start));
    seen.tier() >= least || seen.iter().any(|finding| listed(&finding.code))
}

/// The same for an argument of a tool that runs things, where words alone may be a command too:
/// `kubectl delete namespace prod`. A sentence has other words and begins with a capital.
pub(super) fn is_dangerous_command(text: &str, ctx: &Context<'_>) -> bool {
    let bare = |line: &str| {
        line.starts_with(|c: char| c.is_ascii_lowercase())
            && line.contains(' ')
            && !line.split_whitespace().any(|word| PROSE_WORDS.contains(&word))
    };
    let reads_grave = |line: &str| {
        let mut seen = Findings::default();
        crate::command_text::read(line, ctx, &mut seen);
        seen.tier() >= Tier::High
    };
    is_dangerous(text, ctx, Tier::High)
        || text.lines().map(str::trim).any(|line| bare(line) && reads_grave(line))
}
