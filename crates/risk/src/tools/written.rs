//! Files that a tool would write, for the memory of the session.

use std::borrow::Cow;

use super::patch;
use super::table::Role;
use super::target::Access;
use crate::context::Context;
use crate::finding::Findings;
use crate::paths::workspace::Workspace;
use crate::session::{ContentChange, FileOrigin, FileWrite};
use countersign_json::Value;

/// Notes the files that a described tool would write, with their content.
pub(super) fn note(
    arguments: &Value<'_>,
    role_of: &dyn Fn(&str) -> Option<Role>,
    ctx: &Context<'_>,
    out: &mut Findings,
) {
    if ctx.session.is_none() {
        return;
    }
    let workspace = Workspace::of(ctx);
    let mut wrote = |path: &str, change: ContentChange| {
        let path = workspace.identity(path, ctx.cwd);
        out.trace.wrote(FileWrite { path, change, origin: FileOrigin::default() });
    };
    let patched = |text: &str, wrote: &mut dyn FnMut(&str, ContentChange)| {
        for file in patch::files(text).into_iter().filter(|file| file.access == Access::Write) {
            let whole = file.is_new;
            let change = if whole {
                ContentChange::Whole(Some(file.added))
            } else {
                ContentChange::Part(file.added)
            };
            wrote(file.path, change);
        }
    };
    let Value::Object(members) = arguments else {
        if let Value::String(text) = arguments {
            patched(text, &mut wrote);
        }
        return;
    };
    for (_, value) in members.iter().filter(|(key, _)| role_of(key) == Some(Role::Patch)) {
        patched(value.as_str().unwrap_or_default(), &mut wrote);
    }
    let is_path = |key: &str| role_of(key) == Some(Role::PathWrite);
    let path = members.iter().find_map(|(key, value)| value.as_str().filter(|_| is_path(key)));
    let Some(path) = path else { return };
    for (key, value) in members.iter().filter(|(key, _)| role_of(key) == Some(Role::Content)) {
        match value {
            _ if key.starts_with("old") => {}
            Value::String(text) => wrote(path, change(key, text, members)),
            Value::Array(list) => {
                for item in list {
                    each_edit(item, &mut |change| wrote(path, change));
                }
            }
            _ => {}
        }
    }
}

/// One edit of a list of edits.
fn each_edit(item: &Value<'_>, wrote: &mut dyn FnMut(ContentChange)) {
    match item {
        Value::String(text) => wrote(ContentChange::Part(text.to_string())),
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(key, _)| !key.starts_with("old")) {
                if let Value::String(text) = value
                    && key.starts_with("new")
                {
                    wrote(change(key, text, members));
                }
            }
        }
        _ => {}
    }
}

/// What a text does to its file, by its own name and the other members.
fn change(key: &str, text: &str, members: &[(Cow<'_, str>, Value<'_>)]) -> ContentChange {
    let old = members.iter().find_map(|(key, value)| {
        value.as_str().filter(|_| key.starts_with("old")).map(str::to_owned)
    });
    match old {
        Some(old) => ContentChange::Replace { old, new: text.to_owned() },
        None if key.starts_with("new") || key.contains("insert") => {
            ContentChange::Part(text.to_owned())
        }
        None => ContentChange::Whole(Some(text.to_owned())),
    }
}
