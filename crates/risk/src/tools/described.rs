//! Tools that the catalogue describes: what it says about them, and their arguments by role.

use super::arguments::{self, DEEPEST, Reader};
use super::name::{self, same};
use super::place::Place;
use super::subject::{Members, ReadInner, Subject};
use super::table::{self, Entry, Role};
use super::{objects, text, written};
use crate::effect::{Effect, Effects};
use crate::finding::{Finding, Findings};
use countersign_json::Value;
use countersign_types::tier::Tier;

/// Whether the code among the arguments is understood and needs no person.
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
        text.is_some_and(|text| subject.context.is_harmless_code(language, text))
    };
    codes.next().is_some_and(harmless) && codes.all(harmless)
}

/// Reads a described tool. `sure`: its name is surely that tool's.
pub(super) fn read(
    subject: &Subject<'_>,
    (entry, sure): (&'static Entry, bool),
    read_inner: ReadInner,
    out: &mut Findings,
) {
    let effects: Effects = entry.effects.iter().copied().collect();
    add_entry(subject, entry, effects, out);
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
    read_arguments(subject.arguments, (entry, sure), &role_of, &mut reader);
    written::note(subject.arguments, &role_of, &subject.context, reader.out);
    reader.scan(subject.arguments, served, &|key| role_of(key) == Some(Role::Content));
    if entry.args.iter().any(|(_, role)| *role == Role::Tool) {
        read_inner_tool(subject, entry, read_inner, &mut reader);
    }
}

/// Adds what the catalogue says about the tool, whatever its arguments are.
fn add_entry(subject: &Subject<'_>, entry: &'static Entry, effects: Effects, out: &mut Findings) {
    out.effects.extend(effects);
    if entry.irreversible {
        out.irreversible();
    }
    out.human(entry.human);
    let tier = if entry.assessed_by_code && harmless_code(subject, entry) {
        Tier::Low
    } else {
        entry.tier
    };
    let mut base = Finding::pattern(entry.code, tier, entry.message);
    base.suggestion = entry.suggestion.map(Into::into);
    out.add(base);
    objects::note(entry.code, entry.tier, subject, out);
}

/// Assesses the tool that the arguments name; arguments that name none are unreadable.
fn read_inner_tool(
    subject: &Subject<'_>,
    entry: &'static Entry,
    read_inner: ReadInner,
    reader: &mut Reader<'_, '_>,
) {
    let is = |key: &str, wanted: Role| {
        entry.args.iter().any(|(name, role)| *role == wanted && same(key, name))
    };
    if let Value::Object(members) = subject.arguments
        && !members.iter().any(|(key, value)| is(key, Role::Tool) && value.as_str().is_some())
        && !members.is_empty()
    {
        reader.unreadable();
    }
    read_inner(subject, &is, reader.out);
}

/// Reads the arguments of a described tool, each by its role.
fn read_arguments<'c>(
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
            read_wrapped(members, role_of, reader, 0);
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

/// Reads the members of objects whose own names have no role: some clients put all arguments into
/// one (`{"params": {"path": …}}`).
fn read_wrapped<'c>(
    members: &'c Members<'c>,
    role_of: &dyn Fn(&str) -> Option<Role>,
    reader: &mut Reader<'c, '_>,
    depth: u8,
) {
    if depth > DEEPEST {
        return reader.unreadable();
    }
    for (_, value) in members.iter().filter(|(key, _)| role_of(key).is_none()) {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        for item in items {
            let Value::Object(inner) = item else { continue };
            let roles: Vec<Option<Role>> = inner.iter().map(|(key, _)| role_of(key)).collect();
            reader.steer(inner, role_of);
            reader.members(inner, &roles);
            read_wrapped(inner, role_of, reader, depth + 1);
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
