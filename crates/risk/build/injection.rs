//! `rules/injection.toml` → the phrases that try to give an agent new orders.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    phrase: Vec<Phrase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrase {
    id: String,
    say: String,
    phrases: Vec<String>,
    examples: Vec<String>,
    counter_examples: Vec<String>,
}

/// Reads the file and writes the table into `out`.
pub fn generate(path: &Path, out: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file: File = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut source = String::from("static PHRASES: &[Phrase] = &[\n");
    for p in &file.phrase {
        // The phrases are compared with folded words, a blank before each.
        let phrases: Vec<String> = p.phrases.iter().map(|t| format!(" {t}")).collect();
        let _ = writeln!(
            source,
            "Phrase {{ id: {:?}, say: {:?}, phrases: &{phrases:?},\n\
             examples: &{:?},\ncounter_examples: &{:?} }},",
            p.id, p.say, p.examples, p.counter_examples
        );
    }
    source.push_str("];\n");
    fs::write(out.join("injection.rs"), source).map_err(|e| e.to_string())
}
