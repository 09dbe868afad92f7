//! What each argument of a call adds, by its role.

use std::borrow::Cow;

use super::script_language::{ScriptLanguage, script_language};
use super::subject::Members;
use super::table::{Class, Role, Strength, Verb};
use super::target::Access;
use super::{table, text};
use crate::context::Context;
use crate::effect::Effect;
use crate::finding::{Doubt, Factor, Finding, Findings};
use countersign_json::Value;
use countersign_text::file_url;
use countersign_types::tier::{Points, Tier};

/// Values nested deeper than this are not read further; the call becomes unreadable.
pub(super) const DEEPEST: u8 = 12;

/// Where in the arguments a value stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub parent: Option<&'p Place<'p>>,
    pub key: &'p str,
    pub index: Option<usize>,
    pub depth: u8,
}

impl Place<'_> {
    /// The place of an item of the array that stands here.
    pub(super) fn item(&self, index: usize) -> Place<'_> {
        Place { parent: Some(self), key: self.key, index: Some(index), depth: self.depth + 1 }
    }

    /// Its JSON pointer; the names that most calls use cost nothing.
    fn shown(&self) -> Cow<'static, str> {
        match (self.parent, self.index, self.key) {
            (None, None, "command") => Cow::Borrowed("/command"),
            (None, None, "cmd") => Cow::Borrowed("/cmd"),
            (None, None, "path") => Cow::Borrowed("/path"),
            _ => Cow::Owned(self.pointer()),
        }
    }

    pub(super) fn pointer(&self) -> String {
        let mut head = self.parent.map_or_else(String::new, Place::pointer);
        head.push('/');
        match self.index {
            Some(index) => head.push_str(&index.to_string()),
            None => head.push_str(&self.key.replace('~', "~0").replace('/', "~1")),
        }
        head
    }
}

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
            Role::Shell | Role::Argv | Role::Program => self.shell(value),
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
                    let role = guessed(key).unwrap_or(role);
                    self.read(role, item, &inner);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn text(&mut self, role: Role, text: &str) {
        match role {
            Role::Code(language) => {
                crate::readers::read_code(language, text, 0, &self.ctx, self.out);
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
            Role::Method => self.method(text),
            Role::Action => self.action(text),
            Role::Secret if !self.looks && !text.is_empty() => self.hands_over(),
            _ => self.body(text),
        }
    }

    /// What is done to a path, judging by the tool's verb.
    pub(super) fn access(&self) -> Access {
        match self.class {
            _ if self.looks => Access::Read,
            Some(Class::Delete) => Access::Delete,
            Some(Class::Take | Class::Send) => Access::Read,
            _ => Access::Write,
        }
    }

    pub(super) fn url(&mut self, url: &str) {
        if file_url::file(url).is_some() || file_url::hostless(url).is_some() {
            self.path(url, Access::Read, None);
            return;
        }
        if url.contains(char::is_whitespace) {
            // A sentence: each address in it may be opened.
            for part in url.split_whitespace().filter(|part| part.contains("://")) {
                self.url(part.trim_matches(|c: char| "\"'()<>[],.".contains(c)));
            }
            return;
        }
        let Some(host) = text::host(url) else { return };
        self.out.impact.hosts.add(host);
        self.out.effect(Effect::NetIn);
        if text::is_metadata_host(host) {
            self.out.effect(Effect::Secret);
            self.out.add(Finding::pattern(
                "net.metadata",
                Tier::High,
                "This address hands out the machine's own credentials.",
            ));
        }
        self.leak(url);
        if text::carries_data(url) {
            self.out.effect(Effect::NetOut);
            let message = "This address is long enough to carry data out of this machine.";
            self.out.add(Finding::pattern("net.data_in_address", Tier::Medium, message));
        }
    }

    fn method(&mut self, method: &str) {
        let reads = ["GET", "HEAD", "OPTIONS"];
        if reads.iter().any(|r| method.trim().eq_ignore_ascii_case(r)) {
            return;
        }
        self.outward = true;
        self.out.effect(Effect::NetOut);
        self.out.effect(Effect::Remote);
        let message = "This request changes something on the other side.";
        self.out.add(Finding::pattern("net.changes", Tier::Medium, message));
        if method.trim().eq_ignore_ascii_case("DELETE") {
            self.out.irreversible();
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
            self.out.add(Finding::pattern("tool.sweep", Tier::High, "This takes everything away."));
        }
        if self.outward {
            self.leak(text);
        }
    }

    /// A password or token is given to the tool by name.
    fn hands_over(&mut self) {
        self.out.effect(Effect::Secret);
        if self.class == Some(Class::Send) {
            let message = "A password or token is handed to somebody.";
            self.out.add(Finding::pattern("secret.handed_over", Tier::High, message));
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
            let message = "The agent asks to step outside its sandbox.";
            self.out.add(Finding::pattern("agent.leaves_sandbox", Tier::Medium, message));
        }
    }

    /// Something could not be read: nobody may be told that it is harmless.
    pub(super) fn unreadable(&mut self) {
        self.out.doubt(Doubt::Unreadable);
        let message = "Part of this call could not be read.";
        self.out.add(Finding::pattern("tool.unreadable", Tier::Medium, message));
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
    fn pointers_are_json_pointers() {
        let a = Place { parent: None, key: "a/b~", index: None, depth: 0 };
        let b = Place { parent: Some(&a), key: "", index: Some(2), depth: 1 };
        assert_eq!(b.pointer(), "/a~1b~0/2");
        for key in ["command", "cmd", "path", "a/b"] {
            let top = Place { parent: None, key, index: None, depth: 0 };
            assert_eq!(top.shown(), top.pointer());
            let inner = Place { parent: Some(&a), ..top };
            assert_eq!(inner.shown(), inner.pointer());
        }
    }

    #[test]
    fn argument_names_are_read_by_their_last_word() {
        assert_eq!(guessed("recipient_email"), Some(Role::Recipient));
        assert_eq!(guessed("outputVideoPath"), Some(Role::Path));
        assert_eq!(guessed("amount_ether"), Some(Role::Amount));
        assert_eq!(guessed("order_id"), None);
        assert_eq!(guessed("voice_command"), None);
    }
}
