//! A script of the closest `package.json`.

use std::path::Path;

use countersign_json::canonical::Digest;
use countersign_json::{self as json, Value};
use countersign_risk::facts::{ScriptFact, UnknownReason};

use crate::files;
use crate::local_look::LocalLook;

/// How many folders are searched upwards, as package managers do.
const MAX_LEVELS: usize = 32;

/// The script with the scripts that run before and after it, one per line.
pub fn script(
    look: &LocalLook<'_>,
    folder: &Path,
    name: &str,
) -> Result<ScriptFact, UnknownReason> {
    let limit = look.budget.limits.config_bytes;
    for parent in folder.ancestors().take(MAX_LEVELS) {
        let path = parent.join("package.json");
        match files::read_text(&path, limit) {
            Ok(text) => return of_file(&path, &text, name),
            Err(UnknownReason::Missing) => {}
            Err(reason) => return Err(reason),
        }
    }
    Err(UnknownReason::Missing)
}

fn of_file(path: &Path, text: &str, name: &str) -> Result<ScriptFact, UnknownReason> {
    // Two members of the same name would be read differently elsewhere, and are an error here.
    let value = json::parse_within(text, text.len()).map_err(|_| UnknownReason::Unsupported)?;
    let scripts = value.get("scripts").ok_or(UnknownReason::Missing)?;
    let script = |name: &str| scripts.get(name).and_then(Value::as_str);
    let main = script(name).ok_or(UnknownReason::Missing)?;
    let before = script(&format!("pre{name}"));
    let after = script(&format!("post{name}"));
    let lines: Vec<&str> = [before, Some(main), after].into_iter().flatten().collect();
    Ok(ScriptFact {
        file: path.display().to_string(),
        text: lines.join("\n"),
        is_complete: true,
        digest: Some(Digest::of(text.as_bytes())),
    })
}
