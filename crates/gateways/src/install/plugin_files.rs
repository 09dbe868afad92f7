//! The plugins for agents that load code, as they were when this program was built.

use std::path::Path;

use super::command::HookCommand;
use super::edit::FileEdit;

include!(concat!(env!("OUT_DIR"), "/plugins.rs"));

/// In a plugin, the placeholder for the path of `countersign`, inside a quoted string.
const PLACEHOLDER: &str = "__COUNTERSIGN__";

/// The files of a plugin in a folder, with the program's path filled in.
pub fn edits(files: &[(&str, &str)], folder: &Path, command: &HookCommand) -> Vec<FileEdit> {
    // The plugins hold the placeholder between double quotes.
    let quoted = serde_json::Value::from(command.program.as_str()).to_string();
    let path = quoted.trim_matches('"');
    let edit = |(name, text): &(&str, &str)| {
        FileEdit::whole(folder.join(name), text.replace(PLACEHOLDER, path))
    };
    files.iter().map(edit).collect()
}
