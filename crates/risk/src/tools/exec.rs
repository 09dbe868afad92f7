//! Arguments of tools that run what they are given: every string is understood or asked about.

use std::borrow::Cow;

use super::arguments::{DEEPEST, Reader, guessed};
use super::place::Place;
use super::program::{is_interpreter, joined};
use super::scan::is_dangerous_command;
use super::script_language::ScriptLanguage;
use super::table::{self, Role};
use super::values::{each_text, holds_object, is_plain, strings};
use super::{name, text};
use crate::structural_findings;
use countersign_json::Value;

type Members<'m> = [(Cow<'m, str>, Value<'m>)];

impl Reader<'_, '_> {
    /// Reads the members of one object of such a tool. `listed` knows the tool's own arguments.
    /// `strict` asks about every string that no contract explains.
    pub(super) fn exec_members(
        &mut self,
        members: &Members<'_>,
        listed: &dyn Fn(&str) -> Option<Role>,
        parent: Option<&Place<'_>>,
        strict: bool,
    ) {
        let depth = parent.map_or(0, |place| place.depth + 1);
        if depth > DEEPEST {
            self.unreadable();
            return;
        }
        let role_of = |key: &str| listed(key).or_else(|| table::exec_argument(&name::compact(key)));
        let roles: Vec<Option<Role>> = members.iter().map(|(key, _)| role_of(key)).collect();
        let has_program = self.split_command(members, &roles);
        for ((key, value), role) in members.iter().zip(roles) {
            let place = Place { parent, key, index: None, depth };
            // A script is in the language that another argument names.
            let named = matches!(role, Some(Role::Shell | Role::Bash))
                && self.language.is_some()
                && key == "script";
            let role = if named { Some(Role::AnyCode) } else { role };
            // The words of a program were read with it; alone they are no command of their own.
            if role == Some(Role::Argv) && has_program {
                self.placed(&place, |reader| reader.only_if_grave(value));
                continue;
            }
            self.exec_member(role, value, &place, strict);
            if strict && role.is_none() && text::says_something(key) {
                self.placed(&place, Self::unread);
            }
        }
    }

    /// Reads one argument of such a tool.
    pub(super) fn exec_member(
        &mut self,
        role: Option<Role>,
        value: &Value<'_>,
        place: &Place<'_>,
        strict: bool,
    ) {
        if place.depth > DEEPEST {
            self.unreadable();
            return;
        }
        self.placed(place, |reader| match role {
            Some(Role::Shell | Role::Argv) => reader.command(false, value, place),
            Some(Role::Bash) => reader.bash_command(value, place),
            Some(role) if role.is_scalar() && holds_object(value) => {
                reader.unlisted(value, place, true);
            }
            Some(Role::Interpreter) if value.as_str().is_some_and(is_interpreter) => {}
            Some(Role::ShellLines | Role::Program | Role::Interpreter) => {
                reader.command(true, value, place);
            }
            Some(Role::Plain) if is_plain(value) && !reader.spells_danger(value) => {}
            Some(Role::Plain) => reader.unlisted(value, place, strict),
            Some(Role::Note) => reader.note(value),
            Some(Role::Env) => reader.env(value, place),
            Some(Role::Keystrokes) => reader.keystrokes(value),
            Some(role) if role.is_path() || role == Role::Language => {
                reader.read(role, value, place);
                if !each_text(value, &text::is_plain_path) || reader.spells_danger(value) {
                    reader.unlisted(value, place, strict);
                }
            }
            Some(role @ (Role::Code(_) | Role::AnyCode)) => {
                reader.read(role, value, place);
                reader.shell_escapes(value);
                reader.shell_in_code(value);
            }
            Some(role) => reader.other_member(role, value, place),
            None if strict => reader.unlisted(value, place, strict),
            None => match value {
                Value::Object(members) => {
                    let exec = |key: &str| table::exec_argument(&name::compact(key));
                    let role_of = |key: &str| exec(key).or_else(|| guessed(key));
                    reader.exec_members(members, &role_of, Some(place), strict);
                }
                _ => reader.read(Role::Body, value, place),
            },
        });
    }

    /// An argument that is not run. A word or a switch that is more than that is read as a command.
    fn other_member(&mut self, role: Role, value: &Value<'_>, place: &Place<'_>) {
        self.read(role, value, place);
        let plain = role == Role::Url || is_plain(value);
        if role.is_scalar() && (!plain || self.spells_danger(value)) {
            self.unlisted(value, place, true);
        }
    }

    /// A program in one member and its words in another are one command. Says whether there is a
    /// program to which the words belong.
    fn split_command(&mut self, members: &Members<'_>, roles: &[Option<Role>]) -> bool {
        let with = |wanted: &'static [Role]| {
            members.iter().zip(roles).filter_map(move |((key, value), role)| {
                role.filter(|role| wanted.contains(role)).map(|_| (key, value))
            })
        };
        let mut found = false;
        for (_, head) in with(&[Role::Program, Role::Shell, Role::Bash]) {
            let Some(head) = head.as_str().filter(|head| !head.trim().is_empty()) else { continue };
            for (key, words) in with(&[Role::Argv]) {
                let words: Cow<'_, str> = match words {
                    Value::String(words) => Cow::Borrowed(words),
                    other => match strings(other) {
                        Some(words) => Cow::Owned(joined(&words)),
                        None => continue,
                    },
                };
                found = true;
                let place = Place { parent: None, key, index: None, depth: 0 };
                self.placed(&place, |reader| reader.made_shell(&format!("{head} {words}")));
            }
        }
        found
    }

    /// A command for a tool that starts bash, unless another argument names a language.
    fn bash_command(&mut self, value: &Value<'_>, place: &Place<'_>) {
        let old = self.language;
        self.language = old.or(Some(ScriptLanguage::Bash));
        self.command(false, value, place);
        self.language = old;
    }

    /// A command in any shape: a line, a program with its words, several of either, or an object.
    fn command(&mut self, lines: bool, value: &Value<'_>, place: &Place<'_>) {
        match value {
            Value::Array(list) if list.is_empty() => {}
            Value::Array(list) => {
                if let Some(words) = strings(value) {
                    self.shell(value);
                    if lines {
                        for line in words {
                            self.made_shell(line);
                        }
                    }
                    return;
                }
                let whole = |item: &Value<'_>| matches!(item, Value::Array(_) | Value::Object(_));
                if !list.iter().all(whole) {
                    self.unreadable();
                }
                for (index, item) in list.iter().enumerate() {
                    let inner = place.item(index);
                    if place.depth >= DEEPEST {
                        self.unreadable();
                        return;
                    }
                    self.command(lines, item, &inner);
                }
            }
            Value::Object(members) => self.exec_members(members, &|_| None, Some(place), true),
            other => self.shell(other),
        }
    }

    /// An argument that no contract explains: read as a command, and asked about.
    pub(super) fn unlisted(&mut self, value: &Value<'_>, place: &Place<'_>, strict: bool) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) if text::is_inert(text) => {}
            Value::String(_) => {
                self.shell(value);
                self.unread();
            }
            Value::Array(_) if each_text(value, &text::is_inert) && strings(value).is_some() => {}
            Value::Array(list) => {
                if strings(value).is_some() {
                    self.command(true, value, place);
                    self.unread();
                    return;
                }
                for (index, item) in list.iter().enumerate() {
                    let inner = place.item(index);
                    self.exec_member(None, item, &inner, strict);
                }
            }
            Value::Object(members) => self.exec_members(members, &|_| None, Some(place), strict),
        }
    }

    /// Prose beside a command. A command in its place may be run by a tool that is not what its
    /// name says.
    fn note(&mut self, value: &Value<'_>) {
        let ctx = self.ctx;
        let safe = each_text(value, &|text| !is_dangerous_command(text, &ctx));
        if !safe || self.spells_danger(value) {
            self.unread();
        }
    }

    /// Whether the words of an array, or of one inside, are a dangerous command together.
    pub(super) fn spells_danger(&self, value: &Value<'_>) -> bool {
        let together = strings(value).filter(|words| words.len() > 1);
        together.is_some_and(|words| is_dangerous_command(&joined(&words), &self.ctx))
            || match value {
                Value::Array(list) => list.iter().any(|item| self.spells_danger(item)),
                Value::Object(members) => members.iter().any(|(_, item)| self.spells_danger(item)),
                _ => false,
            }
    }

    /// Words that were read with their program, read once more as a command of their own.
    fn only_if_grave(&mut self, value: &Value<'_>) {
        let ctx = self.ctx;
        let line = match value {
            Value::String(text) => text.to_string(),
            other => {
                if let Some(words) = strings(other) {
                    joined(&words)
                } else {
                    self.unreadable();
                    return;
                }
            }
        };
        let each = strings(value).unwrap_or_default();
        if each.into_iter().chain([line.as_str()]).any(|t| is_dangerous_command(t, &ctx)) {
            self.unread();
        }
    }

    /// A string that may be run is not understood.
    pub(super) fn unread(&mut self) {
        self.out.add(structural_findings::UNREAD_ARGUMENT.finding());
    }
}
