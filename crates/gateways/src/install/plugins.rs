//! The plugins that are copied into agents, as they were when this program was built.

use std::path::Path;

use super::{Ours, Piece};

include!(concat!(env!("OUT_DIR"), "/plugins.rs"));

/// Stands in a plugin for the whole path of `countersign`, inside a quoted text.
const PLACEHOLDER: &str = "__COUNTERSIGN__";

/// A plugin's files in a folder, with the program's path in them.
pub fn pieces(files: &[(&str, &str)], folder: &Path, ours: &Ours) -> Vec<Piece> {
    // The plugins hold the placeholder between double quotes.
    let quoted = serde_json::Value::from(ours.program.as_str()).to_string();
    let path = quoted.trim_matches('"');
    let piece = |(name, text): &(&str, &str)| {
        Piece::whole(folder.join(name), text.replace(PLACEHOLDER, path))
    };
    files.iter().map(piece).collect()
}
