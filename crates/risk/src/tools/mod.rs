//! Tools that are not shell: a catalogue, and a careful reading of names and arguments.

mod arguments;
#[cfg(test)]
mod attack_tests;
mod autorun;
mod exec;
mod guess;
mod name;
mod objects;
mod patch;
mod path_access;
#[cfg(test)]
mod planted_tests;
mod program;
mod scan;
mod script_language;
mod subject;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod text;
mod written;

use arguments::{Place, Reader};
use name::same;
use subject::{Members, Subject};
use table::{Entry, Role};
pub(crate) use table::{about, host_of};

use crate::call::{Annotations, Call};
use crate::effect::{Effect, Effects};
use crate::finding::{Doubt, Finding, Findings};
use countersign_json::Value;
use countersign_types::tier::Tier;

/// A tool that calls a tool that calls a tool: no further than this.
const DEEPEST: u8 = 4;

/// The tier of a named action; an action that is not listed is MEDIUM.
pub fn action_tier(name: &str) -> Tier {
    table::action(&name.trim().to_ascii_lowercase()).unwrap_or(Tier::Medium)
}

/// Reads a call and adds what it would do.
pub fn read(call: &Call<'_>, out: &mut Findings) {
    let subject = Subject {
        name: &call.tool,
        arguments: &call.arguments,
        context: call.context,
        agent: call.agent.as_deref(),
        annotations: call.annotations,
        depth: 0,
    };
    judge(&subject, out);
}

/// Whether this tool runs commands, code or other tools that its arguments spell out.
pub fn runs_programs(tool: &str, arguments: &Value<'_>) -> bool {
    let runs = |role: Role| role.is_code() || role == Role::Tool;
    let known = match find_entry(None, tool, arguments) {
        Some((entry, _)) => entry.runs_code() || entry.args.iter().any(|(_, role)| runs(*role)),
        None => guess::names_execution(tool),
    };
    let members = arguments.as_object().unwrap_or_default();
    let role_of =
        |key: &str| table::exec_argument(&name::compact(key)).or_else(|| arguments::guessed(key));
    known || members.iter().any(|(key, _)| role_of(key).is_some_and(runs))
}

/// The one shell command of a call, and all members next to it. None where the tool runs none,
/// where there are several, or where it is not one text.
pub fn command_text<'v>(
    tool: &str,
    arguments: &'v Value<'v>,
) -> Option<(&'v str, &'v Members<'v>)> {
    let members = arguments.as_object()?;
    let entry = find_entry(None, tool, arguments).map(|(entry, _)| entry);
    let role_of = |key: &str| {
        let listed = entry.and_then(|entry| entry.args.iter().find(|(name, _)| same(key, name)));
        let exec = || table::exec_argument(&name::compact(key));
        listed.map(|(_, role)| *role).or_else(exec).or_else(|| arguments::guessed(key))
    };
    let mut found = members.iter().filter(|(key, _)| role_of(key).is_some_and(Role::is_code));
    match (found.next(), found.next()) {
        (Some((key, value)), None) if role_of(key) == Some(Role::Shell) => {
            Some((value.as_str()?, members))
        }
        _ => None,
    }
}

fn judge(subject: &Subject<'_>, out: &mut Findings) {
    if subject.name.len() > name::LONGEST {
        out.doubt(Doubt::Unreadable);
        out.add(Finding::pattern(
            "tool.endless_name",
            Tier::Medium,
            "The tool's name is too long to be read.",
        ));
    }
    match lookup(subject) {
        Some((entry, true)) => known(subject, entry, true, out),
        Some((entry, false)) => {
            out.doubt(Doubt::GuessedTool);
            known(subject, entry, false, out);
            annotated(subject, out);
        }
        None => {
            out.doubt(Doubt::GuessedTool);
            guess::read(subject, inner, out);
            annotated(subject, out);
        }
    }
}

/// The catalogue entry of a name, and whether it is surely that tool.
fn lookup(subject: &Subject<'_>) -> Option<(&'static Entry, bool)> {
    find_entry(subject.context.host, subject.name, subject.arguments)
}

fn find_entry(
    host: Option<&str>,
    name: &str,
    arguments: &Value<'_>,
) -> Option<(&'static Entry, bool)> {
    if let Some(host) = host
        && let Some(entry) = table::host_tool(host, name, arguments)
    {
        return Some((entry, true));
    }
    // Most names are plain small words already.
    if name.bytes().all(|b| b.is_ascii_lowercase())
        && let Some((entry, _)) = table::tool(name, arguments)
    {
        return Some((entry, true));
    }
    let whole = name::compact(name);
    let bare = whole.strip_prefix("mcp").unwrap_or(&whole);
    let parts = name::parts(name);
    if let Some((entry, served)) =
        table::tool(&whole, arguments).or_else(|| table::tool(bare, arguments))
    {
        return Some((entry, served || parts.server.is_empty()));
    }
    if parts.tool.len() == name.len() {
        return None;
    }
    let own = name::compact(parts.tool);
    if let Some((entry, _)) = table::tool(&format!("{}{own}", parts.server), arguments) {
        return Some((entry, true));
    }
    table::tool(&own, arguments).map(|(entry, _)| (entry, parts.server.is_empty()))
}

/// Whether the code among the arguments is understood and asks for nobody.
fn harmless_code(subject: &Subject<'_>, entry: &Entry) -> bool {
    let Value::Object(members) = subject.arguments else { return false };
    let mut codes = members.iter().filter_map(|(key, value)| {
        let role = entry.args.iter().find(|(name, _)| same(key, name)).map(|(_, role)| *role);
        match role {
            Some(Role::Code(language)) => Some((language, value.as_str())),
            _ => None,
        }
    });
    let harmless = |(language, text): (_, Option<&str>)| {
        text.is_some_and(|text| crate::readers::is_harmless_code(language, text, &subject.context))
    };
    codes.next().is_some_and(harmless) && codes.all(harmless)
}

fn known(subject: &Subject<'_>, entry: &'static Entry, sure: bool, out: &mut Findings) {
    let effects: Effects = entry.effects.iter().copied().collect();
    out.effects.extend(effects);
    if entry.irreversible {
        out.irreversible();
    }
    out.human(entry.human);
    let tier =
        if entry.judged_by_code && harmless_code(subject, entry) { Tier::Low } else { entry.tier };
    let mut base = Finding::pattern(entry.code, tier, entry.message);
    base.suggestion = entry.suggestion.map(Into::into);
    out.add(base);
    objects::note(entry.code, entry.tier, subject, out);

    // What is looked up elsewhere is sent there as a question.
    let asks_elsewhere = effects.has(Effect::Read) && effects.has(Effect::NetIn);
    let outward = asks_elsewhere
        || effects.has_any(&[Effect::Send, Effect::NetOut, Effect::Publish, Effect::Remote]);
    // What a server's tools do is the server's word: a known name does not make it true.
    let served = !sure || !name::parts(subject.name).server.is_empty();
    let mut reader = Reader {
        ctx: subject.context,
        agent: subject.agent,
        class: if effects.has(Effect::Delete) {
            Some(table::Class::Delete)
        } else {
            entry.runs_code().then_some(table::Class::Exec)
        },
        looks: effects.only_reads() && !entry.effects.is_empty(),
        outward: outward || served,
        language: None,
        currency: None,
        target: None,
        out,
    };
    let role_of = |key: &str| {
        let listed = entry.args.iter().find(|(name, _)| same(key, name)).map(|(_, role)| *role);
        let listed = listed.or_else(|| another_path(key, entry));
        // What a tool that runs things is given is never guessed to be harmless.
        if sure || entry.runs_code() { listed } else { listed.or_else(|| arguments::guessed(key)) }
    };
    read_known(subject.arguments, (entry, sure), &role_of, &mut reader);
    written::note(subject.arguments, &role_of, &subject.context, reader.out);
    reader.scan(subject.arguments, served, &|key| role_of(key) == Some(Role::Content));
    if entry.args.iter().any(|(_, role)| *role == Role::Tool) {
        let is = |key: &str, wanted: Role| {
            entry.args.iter().any(|(name, role)| *role == wanted && same(key, name))
        };
        if let Value::Object(members) = subject.arguments
            && !members.iter().any(|(key, value)| is(key, Role::Tool) && value.as_str().is_some())
            && !members.is_empty()
        {
            reader.unreadable();
        }
        inner(subject, &is, out);
    }
}

/// Reads the arguments of a described tool, each by its role.
fn read_known<'c>(
    arguments: &'c Value<'c>,
    (entry, sure): (&'static Entry, bool),
    role_of: &dyn Fn(&str) -> Option<Role>,
    reader: &mut Reader<'c, '_>,
) {
    match arguments {
        Value::Object(members) if entry.runs_code() => {
            reader.steer(members, role_of);
            let strict = entry.tier < Tier::Medium;
            reader.exec_members(members, role_of, None, strict);
            let says_what = |key: &str| {
                let role = role_of(key).or_else(|| table::exec_argument(&name::compact(key)));
                role.is_some_and(Role::is_the_matter)
            };
            if !sure && strict && !members.iter().any(|(key, _)| says_what(key)) {
                // Only its name says what it would run, and the name is a server's word.
                reader.unread();
            }
        }
        Value::Object(members) => {
            let roles: Vec<Option<Role>> = members.iter().map(|(key, _)| role_of(key)).collect();
            let decides = |role: &Role| role.is_the_matter() || *role == Role::PathWrite;
            if !roles.iter().flatten().any(decides)
                && entry.args.iter().any(|(_, role)| role.is_the_matter())
                && members.iter().any(|(_, value)| value.as_str().is_some_and(text::says_something))
            {
                // What it would do is given, but not where this tool keeps it.
                reader.unreadable();
            }
            reader.steer(members, role_of);
            reader.members(members, &roles);
        }
        Value::String(_) | Value::Array(_) => {
            // A free-form tool is given its one text bare.
            let place = Place { parent: None, key: "", index: None, depth: 0 };
            let bare = |r: &Role| r.is_code() || matches!(r, Role::Patch | Role::Sql);
            match entry.args.iter().find(|(_, role)| bare(role)) {
                Some((_, role)) => reader.exec_member(Some(*role), arguments, &place, true),
                None if entry.runs_code() => {
                    reader.exec_member(None, arguments, &place, true);
                }
                None => {}
            }
        }
        _ => {}
    }
}

/// A path by a name nobody listed (`user_path` beside `path`) means what the listed one means.
fn another_path(key: &str, entry: &'static Entry) -> Option<Role> {
    let last = key.rsplit('_').next().filter(|last| last.len() < key.len())?;
    let is_path = |role: &Role| {
        matches!(role, Role::PathRead | Role::PathWrite | Role::PathDelete | Role::PathTaken)
    };
    if !matches!(last, "path" | "file" | "filename") {
        return None;
    }
    entry.args.iter().map(|(_, role)| *role).find(is_path)
}

/// A tool whose arguments name another tool is judged as that tool too.
fn inner(subject: &Subject<'_>, is: &dyn Fn(&str, Role) -> bool, out: &mut Findings) {
    let member = |wanted: Role| {
        let Value::Object(members) = subject.arguments else { return None };
        members.iter().find(|(key, _)| is(key, wanted)).map(|(_, value)| value)
    };
    let Some(name) = member(Role::Tool).and_then(Value::as_str) else { return };
    if subject.depth >= DEEPEST {
        out.doubt(Doubt::Unreadable);
        return;
    }
    let nothing = Value::Null;
    let arguments = member(Role::ToolArguments).unwrap_or(&nothing);
    // Arguments given as JSON in a string are the arguments; other text is unreadable.
    let parsed =
        arguments.as_str().filter(|text| !text.trim().is_empty()).map(countersign_json::parse);
    let arguments = match &parsed {
        Some(Ok(value @ Value::Object(_))) => value,
        Some(_) => {
            out.doubt(Doubt::Unreadable);
            arguments
        }
        None => arguments,
    };
    judge(
        &Subject {
            name,
            arguments,
            context: subject.context,
            agent: subject.agent,
            annotations: Annotations::default(),
            depth: subject.depth + 1,
        },
        out,
    );
}

/// What the tool's server says about it. It is not trusted, so it can only raise.
fn annotated(subject: &Subject<'_>, out: &mut Findings) {
    if subject.annotations.destructive == Some(true) {
        out.irreversible();
        out.add(Finding::pattern(
            "tool.says_destructive",
            Tier::Medium,
            "Its own server says that this tool destroys things.",
        ));
    }
    if subject.annotations.open_world == Some(true) && !out.effects.only_reads() {
        out.add(Finding::pattern(
            "tool.says_open_world",
            Tier::Medium,
            "Its own server says that this tool acts on the world outside.",
        ));
    }
}
