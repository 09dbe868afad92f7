//! Lists of hooks in a JSON file: adds our hooks next to the person's own and removes them again.

use jsonc_parser::cst::{CstNode, CstObject};
use serde_json::Value;

use super::command;
use super::edit::{Patch, PatchError};
use super::json::{self, JsonDocument, JsonItem, JsonSyntax};

/// The hooks of one agent, under `hooks` in its file.
pub struct HookLists {
    agent: &'static str,
    syntax: JsonSyntax,
    /// Members that the file must have beside `hooks`.
    beside: Vec<(&'static str, JsonItem)>,
    /// Each event and our entry in its list.
    wanted: Vec<(&'static str, JsonItem)>,
}

impl HookLists {
    /// Our entries for an agent's events, in a file with this syntax.
    pub fn new(
        agent: &'static str,
        syntax: JsonSyntax,
        wanted: Vec<(&'static str, JsonItem)>,
    ) -> HookLists {
        HookLists { agent, syntax, beside: Vec::new(), wanted }
    }

    /// The same, in a file that must contain a version.
    #[must_use]
    pub fn with_version(mut self, version: u32) -> HookLists {
        self.beside.push(("version", version.into()));
        self
    }

    /// The positions of our hooks: event, entry in its list, hook in the entry.
    pub fn positions(&self, text: &str) -> Result<Vec<(String, usize, usize)>, PatchError> {
        let document = JsonDocument::open(text, self.syntax)?;
        let mut found = Vec::new();
        for (event, entries) in lists(&document.top)? {
            for (at, entry) in entries.iter().enumerate() {
                let hooks = hooks_of(entry);
                let ours = hooks.iter().enumerate().filter(|(_, hook)| self.is_ours(hook));
                found.extend(ours.map(|(inner, _)| (event.clone(), at, inner)));
            }
        }
        Ok(found)
    }

    fn is_ours(&self, hook: &CstNode) -> bool {
        command_of(hook).is_some_and(|text| command::program_of(&text, self.agent).is_some())
    }

    /// Whether our entries are there exactly as wanted.
    fn is_complete(&self, top: &CstObject) -> Result<bool, PatchError> {
        for (name, item) in &self.beside {
            let there = top.get(name).and_then(|member| member.value()?.to_serde_value());
            match there {
                Some(there) if there == json::value_of(item) => {}
                Some(there) => {
                    return Err(PatchError(format!("its `{name}` {there} is not supported")));
                }
                None => return Ok(false),
            }
        }
        let mut missing: Vec<(&str, Value)> =
            self.wanted.iter().map(|(event, item)| (*event, json::value_of(item))).collect();
        for (event, entries) in lists(top)? {
            for entry in entries {
                if !hooks_of(&entry).iter().any(|hook| self.is_ours(hook)) {
                    continue;
                }
                let value = entry.to_serde_value();
                let at = missing
                    .iter()
                    .position(|(name, wanted)| *name == event && value.as_ref() == Some(wanted));
                match at {
                    Some(at) => drop(missing.swap_remove(at)),
                    // An entry of ours that differs: of another version, or changed since.
                    None => return Ok(false),
                }
            }
        }
        Ok(missing.is_empty())
    }

    fn remove_hooks(&self, top: &CstObject) -> Result<bool, PatchError> {
        let mut any = false;
        for (event, entries) in lists(top)? {
            for entry in entries {
                let hooks = hooks_of(&entry);
                let (ours, others): (Vec<_>, Vec<_>) =
                    hooks.into_iter().partition(|hook| self.is_ours(hook));
                any |= !ours.is_empty();
                if others.is_empty() && !ours.is_empty() {
                    entry.remove();
                } else {
                    ours.into_iter().for_each(CstNode::remove);
                }
            }
            if any && let Some(hooks) = top.object_value("hooks") {
                json::prune(&hooks, &event);
            }
        }
        if any {
            json::prune(top, "hooks");
        }
        Ok(any)
    }
}

impl Patch for HookLists {
    fn apply(&self, text: &str) -> Result<String, PatchError> {
        let document = JsonDocument::open(text, self.syntax)?;
        let top = &document.top;
        if self.is_complete(top)? {
            return Ok(text.to_owned());
        }
        self.remove_hooks(top)?;
        for (name, item) in &self.beside {
            if top.get(name).is_none() {
                top.append(name, item.clone());
            }
        }
        let hooks = json::object_in(top, "hooks")?;
        for (event, item) in &self.wanted {
            json::list_in(&hooks, event)?.append(item.clone());
        }
        Ok(document.text())
    }

    fn remove(&self, text: &str) -> Result<String, PatchError> {
        let document = JsonDocument::open(text, self.syntax)?;
        let any = self.remove_hooks(&document.top)?;
        Ok(if any { document.text() } else { text.to_owned() })
    }

    fn is_blank(&self, text: &str) -> bool {
        let Ok(document) = JsonDocument::open(text, self.syntax) else { return false };
        let names = document.top.properties();
        let ours = |name: String| self.beside.iter().any(|(beside, _)| *beside == name);
        names.into_iter().all(|member| member.decoded_name().is_some_and(ours))
            && !text.contains("//")
            && !text.contains("/*")
    }
}

/// Every list under `hooks`, with its entries.
fn lists(top: &CstObject) -> Result<Vec<(String, Vec<CstNode>)>, PatchError> {
    let Some(hooks) = top.get("hooks") else { return Ok(Vec::new()) };
    let hooks =
        hooks.object_value().ok_or_else(|| PatchError("`hooks` is not an object".to_owned()))?;
    let mut found = Vec::new();
    for member in hooks.properties() {
        let event = member.decoded_name().unwrap_or_default();
        // Agents keep switches here, too.
        if let Some(list) = member.array_value() {
            found.push((event, list.elements()));
        }
    }
    Ok(found)
}

/// The hooks of an entry: those in its list `hooks`, or the entry itself.
fn hooks_of(entry: &CstNode) -> Vec<CstNode> {
    let inner = entry.as_object().and_then(|object| object.array_value("hooks"));
    inner.map_or_else(|| vec![entry.clone()], |list| list.elements())
}

/// The command of a hook, under the name that its agent uses.
fn command_of(hook: &CstNode) -> Option<String> {
    let object = hook.as_object()?;
    let named = ["command", "bash"].into_iter().find_map(|name| object.get(name))?;
    named.value()?.as_string_lit()?.decoded_value().ok()
}
