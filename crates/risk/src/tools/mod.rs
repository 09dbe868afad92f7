//! Tools that are not shell: a catalogue, and a careful reading of names and arguments.

mod arguments;
#[cfg(test)]
mod attack_tests;
mod autorun;
mod described;
mod env;
mod exec;
mod guess;
mod instructions;
mod keystrokes;
mod label;
mod label_findings;
mod lookup;
mod mcp_name;
mod name;
mod objects;
mod patch;
mod path_access;
mod place;
#[cfg(test)]
mod planted_tests;
mod program;
mod request;
mod role;
mod scan;
mod script_language;
mod subject;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod text;
mod values;
mod written;

use std::borrow::Cow;

pub use label_findings::suggested_label;
use lookup::find_entry;
pub use mcp_name::{mcp_tool_name, plain_mcp_name};
use name::same;
use subject::{Members, Subject};
use table::Role;
pub(crate) use table::{about, host_of};

use crate::call::{Annotations, Call};
use crate::context::Context;
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
pub(crate) fn read(call: &Call<'_>, context: Context<'_>, out: &mut Findings) {
    let subject = Subject {
        name: &call.tool,
        arguments: &call.arguments,
        context,
        agent: call.agent.as_deref(),
        annotations: call.annotations,
        depth: 0,
    };
    read_subject(&subject, out);
}

/// Whether the catalogue surely describes the tool of this name.
pub fn is_described(tool: &str) -> bool {
    matches!(find_entry(None, tool, &Value::Null), Some((_, true)))
}

/// Whether an argument is a path by its name: `path`, `outputFile`, `target_dir`.
pub fn is_path_argument(name: &str) -> bool {
    arguments::guessed(name).is_some_and(Role::is_path)
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
        (Some((key, value)), None) if matches!(role_of(key), Some(Role::Shell | Role::Bash)) => {
            Some((value.as_str()?, members))
        }
        _ => None,
    }
}

/// The arguments without the texts with which the agent explains what it runs. Only a tool that is
/// known to run code has such texts; elsewhere a description may be what the tool uses.
pub fn without_notes<'v>(tool: &str, arguments: &'v Value<'v>) -> Option<Value<'v>> {
    let members = arguments.as_object()?;
    let runs = match find_entry(None, tool, arguments) {
        Some((entry, _)) => entry.runs_code(),
        None => guess::names_execution(tool),
    };
    let role_of = |key: &str| table::exec_argument(&name::compact(key));
    let is_note = |key: &str, value: &Value<'_>| {
        role_of(key) == Some(Role::Note) && matches!(value, Value::String(_))
    };
    if !runs || !members.iter().any(|(key, value)| is_note(key, value)) {
        return None;
    }
    let kept = members.iter().filter(|(key, value)| !is_note(key, value));
    let kept = kept.map(|(key, value)| (Cow::Borrowed(&**key), value.reborrow()));
    Some(Value::Object(kept.collect()))
}

fn read_subject(subject: &Subject<'_>, out: &mut Findings) {
    if subject.name.len() > name::LONGEST {
        out.doubt(Doubt::Unreadable);
        out.add(Finding::pattern(
            "tool.endless_name",
            Tier::Medium,
            "The tool's name is too long to be read.",
        ));
    }
    match find_entry(subject.context.host, subject.name, subject.arguments) {
        Some((entry, true)) => described::read(subject, (entry, true), inner, out),
        Some((entry, false)) => {
            out.doubt(Doubt::GuessedTool);
            described::read(subject, (entry, false), inner, out);
            annotated(subject, out);
        }
        None => {
            out.doubt(Doubt::GuessedTool);
            guess::read(subject, inner, out);
            annotated(subject, out);
        }
    }
    label_findings::add(subject, out);
}

/// A tool whose arguments name another tool is assessed as that tool too.
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
    read_subject(
        &Subject {
            name,
            arguments,
            // The label is for the tool that was called, not for the one inside.
            context: Context { label: None, ..subject.context },
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
