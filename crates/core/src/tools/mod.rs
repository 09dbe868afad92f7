//! Tools that are not shell: a catalogue, and a careful reading of names and arguments.

mod arguments;
mod guess;
mod name;
mod program;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod text;
mod touch;

use std::borrow::Cow;

use arguments::{Place, Reader};
pub(crate) use table::about;
use table::{Entry, Role};

use crate::call::{Annotations, Call};
use crate::context::Context;
use crate::effect::{Effect, Effects};
use crate::finding::{Doubt, Finding, Findings};
use crate::json::Value;
use crate::tier::Tier;

/// A tool that calls a tool that calls a tool: no further than this.
const DEEPEST: u8 = 4;

/// The seed's tier of a named action; an action nobody named is MEDIUM.
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

/// One tool with its arguments; a call may hold another one inside.
struct Subject<'s> {
    name: &'s str,
    arguments: &'s Value<'s>,
    context: Context<'s>,
    agent: Option<&'s str>,
    annotations: Annotations,
    depth: u8,
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
    match lookup(subject.name) {
        Some((entry, true)) => known(subject, entry, true, out),
        Some((entry, false)) => {
            out.doubt(Doubt::GuessedTool);
            known(subject, entry, false, out);
            annotated(subject, out);
        }
        None => {
            out.doubt(Doubt::GuessedTool);
            guess::read(subject, out);
            annotated(subject, out);
        }
    }
}

/// The catalogue entry of a name, and whether it is surely that tool.
fn lookup(name: &str) -> Option<(&'static Entry, bool)> {
    // Most names are plain small words already.
    if name.bytes().all(|b| b.is_ascii_lowercase())
        && let Some((entry, _)) = table::tool(name)
    {
        return Some((entry, true));
    }
    let whole = name::compact(name);
    let bare = whole.strip_prefix("mcp").unwrap_or(&whole);
    let parts = name::parts(name);
    if let Some((entry, served)) = table::tool(&whole).or_else(|| table::tool(bare)) {
        return Some((entry, served || parts.server.is_empty()));
    }
    if parts.tool.len() == name.len() {
        return None;
    }
    let own = name::compact(parts.tool);
    if let Some((entry, _)) = table::tool(&format!("{}{own}", parts.server)) {
        return Some((entry, true));
    }
    table::tool(&own).map(|(entry, _)| (entry, parts.server.is_empty()))
}

fn known(subject: &Subject<'_>, entry: &'static Entry, sure: bool, out: &mut Findings) {
    let effects: Effects = entry.effects.iter().copied().collect();
    out.effects.extend(effects);
    if entry.irreversible {
        out.irreversible();
    }
    out.human(entry.human);
    let mut base = Finding::pattern(entry.code, entry.tier, entry.say);
    base.safer = entry.safer.map(Into::into);
    out.add(base);

    let outward = effects.has_any(&[Effect::Send, Effect::NetOut, Effect::Publish, Effect::Remote]);
    let mut reader = Reader {
        ctx: subject.context,
        agent: subject.agent,
        class: effects.has(Effect::Delete).then_some(table::Class::Delete),
        looks: effects.only_reads() && !entry.effects.is_empty(),
        outward,
        language: None,
        currency: None,
        out,
    };
    let role_of = |key: &str| {
        let listed = entry.args.iter().find(|(name, _)| same(key, name)).map(|(_, role)| *role);
        let listed = listed.or_else(|| another_path(key, entry));
        if sure { listed } else { listed.or_else(|| arguments::guessed(key)) }
    };
    let members = match subject.arguments {
        Value::Object(members) => members.as_slice(),
        _ => &[],
    };
    let roles: Vec<Option<Role>> = members.iter().map(|(key, _)| role_of(key)).collect();
    let matter = |role: &Role| role.is_the_matter() || *role == Role::PathWrite;
    if !roles.iter().flatten().any(matter)
        && entry.args.iter().any(|(_, role)| role.is_the_matter())
        && members.iter().any(|(_, value)| value.as_str().is_some_and(text::says_something))
    {
        // What it would do stands somewhere, but not where this tool keeps it.
        reader.unreadable();
    }
    match subject.arguments {
        Value::Object(members) => members_of(members, &roles, &mut reader),
        Value::String(_) | Value::Array(_) => {
            // A free-form tool is given its one text bare.
            let place = Place { parent: None, key: "", index: None, depth: 0 };
            let bare = |r: &Role| {
                matches!(
                    r,
                    Role::Shell
                        | Role::PowerShell
                        | Role::Cmd
                        | Role::Patch
                        | Role::Sql
                        | Role::Code(_)
                )
            };
            if let Some((_, role)) = entry.args.iter().find(|(_, role)| bare(role)) {
                reader.read(*role, subject.arguments, &place);
            }
        }
        _ => {}
    }
    if entry.args.iter().any(|(_, role)| *role == Role::Tool) {
        inner(
            subject,
            |key, wanted| entry.args.iter().any(|(name, role)| *role == wanted && same(key, name)),
            out,
        );
    }
}

/// Reads every member whose role is known; what steers the others is looked at first.
fn members_of<'v>(
    members: &'v [(Cow<'v, str>, Value<'v>)],
    roles: &[Option<Role>],
    reader: &mut Reader<'v, '_>,
) {
    for ((_, value), role) in members.iter().zip(roles) {
        match (role, value) {
            (Some(Role::Language), Value::String(name)) => {
                reader.language = Some(program::tongue(name));
            }
            (Some(Role::Cwd), Value::String(folder)) => reader.ctx.cwd = Some(folder),
            (Some(Role::Currency), Value::String(name)) => reader.currency = Some(name.to_string()),
            _ => {}
        }
    }
    for ((key, value), role) in members.iter().zip(roles) {
        if let Some(role) = role {
            let place = Place { parent: None, key, index: None, depth: 0 };
            reader.read(*role, value, &place);
        }
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
fn inner(subject: &Subject<'_>, is: impl Fn(&str, Role) -> bool, out: &mut Findings) {
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
    if matches!(arguments, Value::String(text) if !text.is_empty()) {
        out.doubt(Doubt::Unreadable);
    }
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

/// Whether an argument's name is this compact name in some spelling.
fn same(key: &str, compact: &str) -> bool {
    key == compact
        || key.len() >= compact.len()
            && key
                .bytes()
                .filter(u8::is_ascii_alphanumeric)
                .map(|b| b.to_ascii_lowercase())
                .eq(compact.bytes())
}
