//! What each argument of a call adds, by its role.

use std::borrow::Cow;

use super::place::Place;
use super::script_language::{ScriptLanguage, script_language};
use super::subject::Members;
use super::table::{Class, Role, Strength, Verb};
use super::target::Access;
use super::{table, text};
use crate::context::Context;
use crate::effect::Effect;
use crate::finding::{Doubt, Factor, Finding, Findings};
use crate::structural_findings;
use countersign_json::Value;
use countersign_types::tier::{Points, Tier};

/// Values nested deeper than this are not read further; the call becomes unreadable.
pub(super) const DEEPEST: u8 = 12;

/// Reads arguments for one tool.
pub(super) struct Reader<'c, 'o> {
    pub ctx: Context<'c>,
    pub agent: Option<&'c str>,
    /// What the tool does, where its name told us.
    pub class: Option<Class>,
    /// Whether the tool only looks.
    pub looks: bool,
    /// Whether what it is given leaves this machine.
    pub outward: bool,
    /// Language named by another argument.
    pub language: Option<ScriptLanguage>,
    /// A currency named by another argument.
    pub currency: Option<String>,
    /// The file that another argument says is written.
    pub target: Option<&'c str>,
    pub out: &'o mut Findings,
}

impl<'c> Reader<'c, '_> {
    /// Notes the arguments that decide how the others are read.
    pub(super) fn steer(
        &mut self,
        members: &'c [(Cow<'c, str>, Value<'c>)],
        role_of: &dyn Fn(&str) -> Option<Role>,
    ) {
        for (key, value) in members {
            let Value::String(text) = value else { continue };
            match role_of(key) {
                Some(Role::Language) => self.language = Some(script_language(text)),
                Some(Role::Cwd) => self.ctx.cwd = Some(text),
                Some(Role::Currency) => self.currency = Some(text.to_string()),
                Some(Role::PathWrite) => self.target = Some(text),
                _ => {}
            }
        }
    }

    /// Adds what one argument adds.
    pub(super) fn read(&mut self, role: Role, value: &Value<'_>, place: &Place<'_>) {
        if place.depth > DEEPEST {
            self.unreadable();
            return;
        }
        self.placed(place, |reader| reader.read_as(role, value, place));
    }

    /// Reads every member whose role is known.
    pub(super) fn members(&mut self, members: &Members<'_>, roles: &[Option<Role>]) {
        for ((key, value), role) in members.iter().zip(roles) {
            if let Some(role) = role {
                let place = Place { parent: None, key, index: None, depth: 0 };
                self.read(*role, value, &place);
            }
        }
    }

    /// Runs a reading, and notes for its findings which argument they are about.
    pub(super) fn placed(&mut self, place: &Place<'_>, reading: impl FnOnce(&mut Self)) {
        let outer = self.out.take();
        reading(self);
        let inner = std::mem::replace(self.out, outer);
        let mut pointer: Option<Cow<'static, str>> = None;
        self.out.absorb(inner, |mut finding| {
            if finding.argument.is_empty() {
                finding.argument.clone_from(pointer.get_or_insert_with(|| place.shown()));
            }
            finding
        });
    }

    fn read_as(&mut self, role: Role, value: &Value<'_>, place: &Place<'_>) {
        match role {
            Role::Shell | Role::Bash | Role::Argv | Role::Program => self.shell(value),
            Role::ShellLines => self.shell_lines(value),
            Role::PowerShell => self.shell_in(ScriptLanguage::PowerShell, value),
            Role::Cmd => self.shell_in(ScriptLanguage::Cmd, value),
            Role::Code(_) | Role::AnyCode | Role::Sql => self.matter(role, value, place),
            Role::Items => {
                self.items(value);
                self.each(Role::Body, value, place);
            }
            Role::Sweep => self.sweep(value),
            Role::Switch => self.switch(value),
            Role::Keystrokes => self.keystrokes(value),
            Role::Env => self.env(value, place),
            Role::Escalate => self.escalate(value),
            Role::Amount => self.amount(value),
            Role::Note
            | Role::Plain
            | Role::Interpreter
            | Role::Language
            | Role::Currency
            | Role::Cwd
            | Role::Tool
            | Role::ToolArguments => {}
            // What an edit takes out of a file is not written.
            Role::Content if place.key.starts_with("old") => {}
            _ => self.each(role, value, place),
        }
    }

    /// Strings at once, lists one by one; lists of recipients or paths are counted.
    pub(super) fn each(&mut self, role: Role, value: &Value<'_>, place: &Place<'_>) {
        match value {
            Value::String(text) => self.text(role, text),
            Value::Array(list) => {
                self.count(role, list.len());
                for (index, item) in list.iter().enumerate() {
                    let inner = Place {
                        parent: Some(place),
                        key: "",
                        index: Some(index),
                        depth: place.depth + 1,
                    };
                    self.read(role, item, &inner);
                }
            }
            Value::Object(members) => {
                for (key, item) in members {
                    let inner =
                        Place { parent: Some(place), key, index: None, depth: place.depth + 1 };
                    // Another agent gets all of its instructions, whatever they are called.
                    let role = match role {
                        Role::Instructions => role,
                        _ => guessed(key).unwrap_or(role),
                    };
                    self.read(role, item, &inner);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn text(&mut self, role: Role, text: &str) {
        match role {
            Role::Code(language) => {
                self.ctx.read_code(language, text, self.out);
            }
            Role::AnyCode => self.code(text),
            Role::Sql => crate::sql::read(text, 0, &self.ctx, self.out),
            Role::MaybeSql if text::looks_like_sql(text) => {
                crate::sql::read(text, 0, &self.ctx, self.out);
            }
            Role::Path if text::looks_like_path(text) => {
                self.path(text, self.access(), None);
                if self.class == Some(Class::Take) {
                    self.taken(text);
                }
            }
            Role::PathTaken => self.taken(text),
            Role::PathRead => self.path(text, Access::Read, None),
            Role::PathWrite => self.path(text, Access::Write, None),
            Role::PathDelete => self.path(text, Access::Delete, None),
            Role::Url => self.url(text),
            Role::Recipient => self.recipient(text),
            Role::Patch => self.patch(text),
            Role::Content => self.content(text),
            Role::Label => self.label(text),
            Role::Instructions => self.instructions(text),
            Role::Method => self.method(text),
            Role::Action => self.action(text),
            Role::Secret if !self.looks && !text.is_empty() => self.hands_over(),
            _ => self.body(text),
        }
    }

    /// What is done to a path, by the tool's verb.
    pub(super) fn access(&self) -> Access {
        match self.class {
            _ if self.looks => Access::Read,
            Some(Class::Delete) => Access::Delete,
            Some(Class::Take | Class::Send) => Access::Read,
            _ => Access::Write,
        }
    }

    /// An argument that says what to do: `action: "delete"`.
    pub(super) fn action(&mut self, text: &str) {
        let words = super::name::words(text);
        let first = words.split(' ').take(3).find_map(table::verb);
        // `list_and_purge` purges, whatever comes first.
        let grave = |(verb, strength): &(&Verb, Strength)| {
            *strength == Strength::Strong
                && matches!(verb.class, Class::Delete | Class::Money | Class::Grant)
        };
        let others = words.split(' ').take(8).filter_map(table::verb).filter(grave);
        for (verb, strength) in first.into_iter().chain(others) {
            // That it runs what it is given is said already, and what that is has been read.
            let runs = verb.class == Class::Exec && self.class == Some(Class::Exec);
            if runs || verb.class.only_looks() || self.looks && strength != Strength::Strong {
                continue;
            }
            for effect in verb.effects {
                self.out.effect(*effect);
            }
            if verb.irreversible {
                self.out.irreversible();
            }
            self.out.add(Finding::pattern(verb.code, verb.tier, verb.message));
        }
    }

    fn body(&mut self, text: &str) {
        if self.class == Some(Class::Delete) && matches!(text, "*" | "all") {
            self.out.doubt(Doubt::VagueArguments);
            self.out.add(structural_findings::DELETES_EVERYTHING.finding());
        }
        if self.outward {
            self.leak(text);
        }
    }

    /// A password or token is given to the tool by name.
    fn hands_over(&mut self) {
        self.out.effect(Effect::Secret);
        if self.class == Some(Class::Send) {
            self.out.add(structural_findings::SECRET_GIVEN.finding());
        }
    }

    pub(super) fn leak(&mut self, value: &str) {
        let Some((name, span)) = text::secret(value) else { return };
        self.out.effect(Effect::Secret);
        let message = format!("This text contains {name}, and it would leave this machine.");
        self.out.add(Finding::pattern("secret.leaves", Tier::High, message).at(span));
    }

    fn escalate(&mut self, value: &Value<'_>) {
        let on = match value {
            Value::Bool(on) => *on,
            Value::String(text) => !matches!(text.as_ref(), "" | "use_default" | "false"),
            Value::Null | Value::Number(_) => false,
            Value::Array(list) => list.iter().any(|item| item.as_str().is_none_or(|t| t == "all")),
            Value::Object(members) => !members.is_empty(),
        };
        if on {
            self.out.effect(Effect::Privilege);
            self.out.add(structural_findings::LEAVES_SANDBOX.finding());
        }
    }

    /// Something could not be read: nobody may be told that it is harmless.
    pub(super) fn unreadable(&mut self) {
        self.out.doubt(Doubt::Unreadable);
        self.out.add(structural_findings::UNREADABLE_CALL.finding());
    }

    /// Notes how the agent behaves; such weights add up.
    pub(super) fn behaviour(&mut self, code: &'static str, weight: u16, message: &'static str) {
        self.out.add(Finding {
            factor: Factor::Behaviour,
            weight: Points(weight),
            ..Finding::pattern(code, Tier::Safe, message)
        });
    }
}

/// The role of an argument nobody described: its whole name, else its last word.
pub(super) fn guessed(key: &str) -> Option<Role> {
    let words = super::name::words(key);
    let (_, last) = words.rsplit_once(' ').unwrap_or(("", &words));
    let whole = if last.len() == words.len() {
        table::argument(&words)
    } else {
        table::argument(&words.replace(' ', ""))
    };
    if whole.is_some() {
        return whole;
    }
    let role = table::argument(last).or_else(|| table::argument(table::singular(last)?));
    role.or_else(|| words.starts_with("amount ").then_some(Role::Amount))
        .filter(|role| !matches!(role, Role::Shell | Role::Action | Role::Tool | Role::Argv))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_names_are_read_by_their_last_word() {
        assert_eq!(guessed("recipient_email"), Some(Role::Recipient));
        assert_eq!(guessed("outputVideoPath"), Some(Role::Path));
        assert_eq!(guessed("amount_ether"), Some(Role::Amount));
        assert_eq!(guessed("order_id"), None);
        assert_eq!(guessed("voice_command"), None);
    }
}
