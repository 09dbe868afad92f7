//! Lists of hooks in a JSON file: ours put in among the person's own, and taken out again.

use jsonc_parser::cst::{CstNode, CstObject};
use serde_json::Value;

use super::json::{self, Document, Item, Kind};
use super::{Misread, Within, command};

/// The hooks of one agent, as they are to stand under `hooks` in its file.
pub struct HookLists {
    agent: &'static str,
    kind: Kind,
    /// What must stand beside `hooks`.
    beside: Vec<(&'static str, Item)>,
    /// The event and the one entry of its list that is ours.
    wanted: Vec<(&'static str, Item)>,
}

impl HookLists {
    /// Of which agent, in which file, under which events.
    pub fn new(agent: &'static str, kind: Kind, wanted: Vec<(&'static str, Item)>) -> HookLists {
        HookLists { agent, kind, beside: Vec::new(), wanted }
    }

    /// With the version that the file must name.
    #[must_use]
    pub fn of_version(mut self, version: u32) -> HookLists {
        self.beside.push(("version", version.into()));
        self
    }

    /// The places of our hooks: event, entry in its list, hook in its entry.
    pub fn places(&self, text: &str) -> Result<Vec<(String, usize, usize)>, Misread> {
        let document = Document::open(text, self.kind)?;
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

    /// Whether exactly what is wanted stands there.
    fn stands(&self, top: &CstObject) -> Result<bool, Misread> {
        for (name, item) in &self.beside {
            let there = top.get(name).and_then(|member| member.value()?.to_serde_value());
            match there {
                Some(there) if there == json::value_of(item) => {}
                Some(there) => return Err(Misread(format!("`{name}` {there} is not known"))),
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
                    // Ours, but another one: of an older version, or changed since.
                    None => return Ok(false),
                }
            }
        }
        Ok(missing.is_empty())
    }

    fn remove(&self, top: &CstObject) -> Result<bool, Misread> {
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

impl Within for HookLists {
    fn put(&self, text: &str) -> Result<String, Misread> {
        let document = Document::open(text, self.kind)?;
        let top = &document.top;
        if self.stands(top)? {
            return Ok(text.to_owned());
        }
        self.remove(top)?;
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

    fn take(&self, text: &str) -> Result<String, Misread> {
        let document = Document::open(text, self.kind)?;
        let any = self.remove(&document.top)?;
        Ok(if any { document.text() } else { text.to_owned() })
    }

    fn says_nothing(&self, text: &str) -> bool {
        let Ok(document) = Document::open(text, self.kind) else { return false };
        let names = document.top.properties();
        let ours = |name: String| self.beside.iter().any(|(beside, _)| *beside == name);
        names.into_iter().all(|member| member.decoded_name().is_some_and(ours))
            && !text.contains("//")
            && !text.contains("/*")
    }
}

/// Every list under `hooks`, with its entries. Something else there is not understood.
fn lists(top: &CstObject) -> Result<Vec<(String, Vec<CstNode>)>, Misread> {
    let Some(hooks) = top.get("hooks") else { return Ok(Vec::new()) };
    let hooks = hooks.object_value().ok_or_else(|| Misread("`hooks` is no object".to_owned()))?;
    let mut found = Vec::new();
    for member in hooks.properties() {
        let event = member.decoded_name().unwrap_or_default();
        // Hosts keep switches here, too.
        if let Some(list) = member.array_value() {
            found.push((event, list.elements()));
        }
    }
    Ok(found)
}

/// The hooks of an entry: those in its own list, or itself.
fn hooks_of(entry: &CstNode) -> Vec<CstNode> {
    let inner = entry.as_object().and_then(|object| object.array_value("hooks"));
    inner.map_or_else(|| vec![entry.clone()], |list| list.elements())
}

/// The command of a hook, whatever its host calls it.
fn command_of(hook: &CstNode) -> Option<String> {
    let object = hook.as_object()?;
    let named = ["command", "bash"].into_iter().find_map(|name| object.get(name))?;
    named.value()?.as_string_lit()?.decoded_value().ok()
}
