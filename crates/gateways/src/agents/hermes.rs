//! Hermes: gated by a plugin of ours, which speaks our own words.

use std::path::PathBuf;

use super::{Agent, plugin};
use crate::install::yaml::WordInList;
use crate::install::{Ours, Piece, Place, Setup, nothing_then, plugins};

pub const AGENT: Agent = Agent {
    name: "hermes",
    title: "Hermes",
    read: plugin::read,
    reply: plugin::reply,
    setup: Setup {
        programs: &["hermes"],
        folder,
        per_project: false,
        pieces,
        then: nothing_then,
        open,
        notes: &["In its safe mode Hermes loads no plugins, ours neither."],
    },
};

const ENABLED: WordInList = WordInList { top: "plugins", list: "enabled", word: "countersign" };
const DISABLED: WordInList = WordInList { top: "plugins", list: "disabled", word: "countersign" };

fn folder(place: &Place) -> PathBuf {
    place.folder("HERMES_HOME", ".hermes")
}

fn pieces(place: &Place, ours: &Ours) -> Vec<Piece> {
    let plugin = folder(place).join("plugins/countersign");
    let mut pieces = plugins::pieces(plugins::HERMES, &plugin, ours);
    pieces.push(Piece::whole(plugin.join("binary"), format!("{}\n", ours.program)));
    pieces.push(Piece::within(folder(place).join("config.yaml"), ENABLED));
    pieces
}

fn open(place: &Place, _: &Ours) -> Vec<String> {
    let config = folder(place).join("config.yaml");
    let text = std::fs::read_to_string(&config).unwrap_or_default();
    let mut why = Vec::new();
    match DISABLED.words(&text) {
        Ok(words) if words.iter().any(|word| word == DISABLED.word) => {
            why.push(format!("`plugins.disabled` names countersign in {}", config.display()));
        }
        Ok(_) => {}
        Err(misread) => why.push(format!("{}: {misread}", config.display())),
    }
    if place.variable("HERMES_SAFE_MODE").is_some() {
        why.push("HERMES_SAFE_MODE is set here, so no plugin is loaded".to_owned());
    }
    why
}
