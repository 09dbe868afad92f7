//! `rules/calls.toml`: names of functions and modules that act, for code that no rule describes.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Calls {
    acting: Vec<String>,
    acting_beside: Vec<String>,
    harmless: Vec<String>,
    modules: Vec<String>,
    plain: Vec<String>,
}

pub fn generate(source: &Path, out: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(source).map_err(|e| format!("{}: {e}", source.display()))?;
    let calls: Calls = toml::from_str(&text).map_err(|e| format!("{}: {e}", source.display()))?;
    let mut code = String::new();
    for (name, mut words) in [
        ("ACTING", calls.acting),
        ("ACTING_BESIDE", calls.acting_beside),
        ("HARMLESS", calls.harmless),
        ("MODULES", calls.modules),
        ("PLAIN", calls.plain),
    ] {
        words.sort();
        let count = words.len();
        words.dedup();
        if words.len() != count {
            return Err(format!("{}: {name} lists a word twice", source.display()));
        }
        let _ = writeln!(code, "pub(super) static {name}: &[&str] = &{words:?};");
    }
    std::fs::write(out.join("calls.rs"), code).map_err(|e| e.to_string())
}
