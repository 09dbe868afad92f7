//! OpenClaw: gated by a plugin of ours, which speaks our own words.

use std::path::PathBuf;

use jsonc_parser::cst::CstArray;
use serde_json::Value;

use super::{Agent, plugin};
use crate::install::json::{self, Document, Item, Kind, object};
use crate::install::{Misread, Ours, Piece, Place, Setup, Within, nothing_then, plugins};

pub const AGENT: Agent = Agent {
    name: "openclaw",
    title: "OpenClaw",
    read: plugin::read,
    reply: plugin::reply,
    setup: Setup {
        programs: &["openclaw"],
        folder,
        per_project: false,
        pieces,
        then: nothing_then,
        open,
        notes: &["OpenClaw waits ten minutes at most; after that the call is blocked."],
    },
};

/// What the plugin is called there.
const ID: &str = "countersign";
/// The longest that OpenClaw waits for a plugin, in milliseconds.
const LONGEST_WAIT: u32 = 600_000;

fn folder(place: &Place) -> PathBuf {
    place.folder("OPENCLAW_STATE_DIR", ".openclaw")
}

fn config(place: &Place) -> PathBuf {
    let named = place.variable("OPENCLAW_CONFIG_PATH").map(PathBuf::from);
    named.unwrap_or_else(|| folder(place).join("openclaw.json"))
}

fn pieces(place: &Place, ours: &Ours) -> Vec<Piece> {
    let plugin = folder(place).join("countersign-plugin");
    let mut pieces = plugins::pieces(plugins::OPENCLAW, &plugin, ours);
    let path = plugin.to_string_lossy().into_owned();
    pieces.push(Piece::within(config(place), Enabled { path }));
    pieces
}

/// The plugin named under `plugins`: where it lies, that it is on, how long it may take.
struct Enabled {
    path: String,
}

impl Enabled {
    fn entry() -> Item {
        let timeouts = object([("before_tool_call", LONGEST_WAIT.into())]);
        object([("enabled", true.into()), ("hooks", object([("timeouts", timeouts)]))])
    }

    fn stands(&self, document: &Document) -> bool {
        let entry = document.at(&["plugins", "entries", ID]);
        let paths = document.at(&["plugins", "load", "paths"]);
        let allow = document.at(&["plugins", "allow"]);
        let holds = |list: &Value, word: &str| {
            list.as_array().is_some_and(|items| items.iter().any(|item| item == word))
        };
        entry == Some(json::value_of(&Enabled::entry()))
            && paths.is_some_and(|paths| holds(&paths, &self.path))
            && allow.is_none_or(|allow| holds(&allow, ID))
    }
}

impl Within for Enabled {
    fn put(&self, text: &str) -> Result<String, Misread> {
        let document = Document::open(text, Kind::Five)?;
        if self.stands(&document) {
            return Ok(text.to_owned());
        }
        let plugins = json::object_in(&document.top, "plugins")?;
        let load = json::object_in(&plugins, "load")?;
        let paths = json::list_in(&load, "paths")?;
        let there = |item: &str, list: &CstArray| {
            list.elements().iter().any(|node| node.to_serde_value() == Some(Value::from(item)))
        };
        if !there(&self.path, &paths) {
            paths.append(self.path.as_str().into());
        }
        let entries = json::object_in(&plugins, "entries")?;
        match entries.get(ID) {
            Some(entry) => entry.set_value(Enabled::entry()),
            None => drop(entries.append(ID, Enabled::entry())),
        }
        // A list of allowed plugins lets no other one in.
        if plugins.get("allow").is_some() {
            let allow = json::list_in(&plugins, "allow")?;
            if !there(ID, &allow) {
                allow.append(ID.into());
            }
        }
        Ok(document.text())
    }

    fn take(&self, text: &str) -> Result<String, Misread> {
        let document = Document::open(text, Kind::Five)?;
        let Some(plugins) = document.top.object_value("plugins") else {
            return Ok(text.to_owned());
        };
        let load = plugins.object_value("load");
        let paths = load.as_ref().and_then(|load| load.array_value("paths"));
        let lists = [(paths, self.path.as_str()), (plugins.array_value("allow"), ID)];
        for (list, word) in lists {
            for node in list.iter().flat_map(CstArray::elements) {
                if node.to_serde_value() == Some(Value::from(word)) {
                    node.remove();
                }
            }
        }
        if let Some(entries) = plugins.object_value("entries") {
            if let Some(entry) = entries.get(ID) {
                entry.remove();
            }
            json::prune(&plugins, "entries");
        }
        if let Some(load) = load {
            json::prune(&load, "paths");
            json::prune(&plugins, "load");
        }
        json::prune(&document.top, "plugins");
        Ok(document.text())
    }

    fn says_nothing(&self, text: &str) -> bool {
        let names = Document::open(text, Kind::Five).map(|document| document.top.properties());
        names.is_ok_and(|names| names.is_empty()) && !text.contains("//") && !text.contains("/*")
    }
}

fn open(place: &Place, _: &Ours) -> Vec<String> {
    let config = config(place);
    let look = |name| json::look(&config, Kind::Five, &["plugins", name]);
    let mut why = Vec::new();
    if look("enabled").is_some_and(|value| value == false) {
        why.push(format!("`plugins.enabled` is off in {}", config.display()));
    }
    let denied = look("deny").and_then(|value| value.as_array().cloned()).unwrap_or_default();
    if denied.iter().any(|name| name == ID) {
        why.push(format!("`plugins.deny` names {ID} in {}", config.display()));
    }
    why
}
