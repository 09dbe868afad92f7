//! OpenCode: gated by a plugin of ours, which speaks our own words.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{Agent, plugin};
use crate::install::{Ours, Piece, Place, Setup, nothing_then, plugins};

pub const AGENT: Agent = Agent {
    name: "opencode",
    title: "OpenCode",
    read: plugin::read,
    reply: plugin::reply,
    setup: Setup {
        programs: &["opencode"],
        folder,
        per_project: true,
        pieces,
        then: nothing_then,
        open,
        notes: &["A plugin that OpenCode cannot load is passed over, and the call runs."],
    },
};

fn folder(place: &Place) -> PathBuf {
    place.folder("XDG_CONFIG_HOME", ".config").join("opencode")
}

/// Where its plugins are found.
fn plugin_folder(place: &Place) -> PathBuf {
    let folder = place.project().map_or_else(|| folder(place), |project| project.join(".opencode"));
    folder.join("plugin")
}

fn pieces(place: &Place, ours: &Ours) -> Vec<Piece> {
    plugins::pieces(plugins::OPENCODE, &plugin_folder(place), ours)
}

/// Loads a file as a module whatever its folder says, with no more than Node itself.
const LOAD: &str = "import('data:text/javascript,' + encodeURIComponent(require('fs')\
                    .readFileSync(process.argv[1], 'utf8')))";

/// Has the plugin loaded as JavaScript, where there is something to load it with. It is our own
/// text: whether it was changed is looked at before.
fn open(place: &Place, _: &Ours) -> Vec<String> {
    let Some(node) = place.program(&["node"]) else { return Vec::new() };
    let file = plugin_folder(place).join("countersign.js");
    let mut command = Command::new(node);
    command.args(["-e", LOAD]).arg(&file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if !status.success() => {
            vec![format!("{} is no JavaScript that can be loaded", file.display())]
        }
        _ => Vec::new(),
    }
}
