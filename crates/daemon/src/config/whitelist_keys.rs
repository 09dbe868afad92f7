//! What the whitelist lets pass, as keys: what was confirmed is kept in the ledger, which names no
//! addresses.

use std::collections::{BTreeMap, BTreeSet};

use countersign_json::canonical::Digest;
use countersign_text::sanitize::sanitize_within;
use countersign_workflow::grant::GrantShape;
use serde_json::{Value, json};

use super::whitelist::{Whitelist, WhitelistEntry};

/// The most keys in the ledger; of a longer list it keeps one digest.
const MAX_KEYS: usize = 500;
/// The most new entries that are named; the others are counted.
const MAX_NAMED: usize = 50;
/// The longest name in a message.
const MAX_SHOWN: usize = 80;

/// A key for each recipient, command or own address that a tool may reach.
#[derive(Debug, Clone, Default)]
pub struct WhitelistKeys {
    /// With words for people; without them if they come from the ledger.
    keys: BTreeMap<String, String>,
    /// The digest of a list that is longer than the ledger keeps.
    all: Option<String>,
}

impl PartialEq for WhitelistKeys {
    fn eq(&self, other: &WhitelistKeys) -> bool {
        self.to_json() == other.to_json()
    }
}

impl Eq for WhitelistKeys {}

impl WhitelistKeys {
    fn digest(&self) -> String {
        if let Some(all) = &self.all {
            return all.clone();
        }
        let keys: Vec<&str> = self.keys.keys().map(String::as_str).collect();
        Digest::of(keys.join("\n").as_bytes()).to_string()
    }

    fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// What is on this list and not on the other, in words.
    pub fn more_than(&self, before: &WhitelistKeys) -> Vec<String> {
        if self.digest() == before.digest() {
            return Vec::new();
        }
        let new = self.keys.iter().filter(|(key, _)| !before.has(key));
        let mut words: Vec<String> =
            new.map(|(_, words)| format!("[whitelist] lets pass: {words}")).collect();
        if let Some(more) = words.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
            words.truncate(MAX_NAMED);
            words.push(format!("[whitelist] lets pass: {more} more entries"));
        }
        words
    }

    /// What is on both lists.
    #[must_use]
    pub fn both(&self, before: &WhitelistKeys) -> WhitelistKeys {
        if self.digest() == before.digest() {
            return self.clone();
        }
        let keys = self.keys.iter().filter(|(key, _)| before.has(key));
        WhitelistKeys { keys: keys.map(|(a, b)| (a.clone(), b.clone())).collect(), all: None }
    }

    /// As JSON, for the ledger.
    pub fn to_json(&self) -> Value {
        if self.all.is_some() || self.keys.len() > MAX_KEYS {
            return json!({ "digest": self.digest() });
        }
        json!(self.keys.keys().collect::<Vec<_>>())
    }

    /// From the JSON of the ledger.
    pub fn from_json(value: &Value) -> Option<WhitelistKeys> {
        if let Some(digest) = value.get("digest") {
            let all = Some(digest.as_str()?.to_owned());
            return Some(WhitelistKeys { keys: BTreeMap::new(), all });
        }
        let keys = value.as_array()?.iter();
        let keys = keys.map(|key| Some((key.as_str()?.to_owned(), String::new())));
        Some(WhitelistKeys { keys: keys.collect::<Option<_>>()?, all: None })
    }
}

impl Whitelist {
    /// The keys of what is in force.
    pub fn keys(&self) -> WhitelistKeys {
        let keys = self.listed.iter().flat_map(keys_of).filter(|(key, _)| !self.held.contains(key));
        WhitelistKeys { keys: keys.collect(), all: None }
    }

    /// Holds what is not on this list.
    pub fn allow_only(&mut self, allowed: &WhitelistKeys) {
        let all: BTreeSet<String> = self.listed.iter().flat_map(keys_of).map(|one| one.0).collect();
        self.held = all.into_iter().filter(|key| !allowed.has(key)).collect();
    }

    /// The grants in force.
    pub fn entries(&self) -> Vec<WhitelistEntry> {
        self.listed.iter().filter_map(|entry| self.allowed_part(entry)).collect()
    }

    fn allowed_part(&self, entry: &WhitelistEntry) -> Option<WhitelistEntry> {
        let free = |target: Option<&str>| !self.held.contains(&key(&entry.action, target));
        match &entry.shape {
            GrantShape::Targets { tool, targets } => {
                let targets = targets.iter().filter(|text| free(Some(text))).cloned();
                let targets: Vec<String> = targets.collect();
                (!targets.is_empty()).then(|| WhitelistEntry {
                    action: entry.action.clone(),
                    shape: GrantShape::Targets { tool: tool.clone(), targets },
                })
            }
            _ => free(None).then(|| entry.clone()),
        }
    }
}

/// The keys of an entry, with words for people.
fn keys_of(entry: &WhitelistEntry) -> Vec<(String, String)> {
    let shown = |text: &str| sanitize_within(text, MAX_SHOWN).text.into_owned();
    let tool = shown(&entry.action);
    match &entry.shape {
        GrantShape::Targets { targets, .. } => {
            let one = |target: &String| {
                (key(&entry.action, Some(target)), format!("{tool} for {}", shown(target)))
            };
            targets.iter().map(one).collect()
        }
        _ => vec![(key(&entry.action, None), format!("{tool} to the agent's own user"))],
    }
}

fn key(action: &str, target: Option<&str>) -> String {
    let reached = target.map_or_else(|| "self".to_owned(), |target| format!("to {target}"));
    let text = format!("whitelist\n{} {action}\n{reached}", action.len());
    let hex = Digest::of(text.as_bytes()).to_string();
    hex.get(..32).unwrap_or(&hex).to_owned()
}
