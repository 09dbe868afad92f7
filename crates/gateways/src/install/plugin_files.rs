//! The plugins for agents that load code, as they were when this program was built.

use std::path::Path;

use super::command::HookCommand;
use super::edit::FileEdit;

include!(concat!(env!("OUT_DIR"), "/plugins.rs"));

/// In a plugin, the placeholder for the path of `countersign`, inside a quoted string.
const PLACEHOLDER: &str = "__COUNTERSIGN__";
/// The placeholder for the path of the file with the daemon's public key.
const KEY_PLACEHOLDER: &str = "__DAEMON_KEY__";

/// The files of a plugin in a folder, with the program's path filled in.
pub fn edits(files: &[(&str, &str)], folder: &Path, command: &HookCommand) -> Vec<FileEdit> {
    // The plugins hold the placeholder between double quotes.
    let inside = |path: &str| {
        let quoted = serde_json::Value::from(path).to_string();
        quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
    };
    let path = inside(&command.program);
    let key = inside(command.daemon_key.as_deref().unwrap_or_default());
    let edit = |(name, text): &(&str, &str)| {
        let text = text.replace(PLACEHOLDER, &path).replace(KEY_PLACEHOLDER, &key);
        FileEdit::whole(folder.join(name), text)
    };
    files.iter().map(edit).collect()
}
