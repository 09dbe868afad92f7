//! `evidence` → the lexicon and the numbers of the model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use countersign_text::words::split_words;
use serde::Deserialize;

/// The scales, thresholds and weights of rules that the training wrote.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    word_scale: i64,
    concept_scale: i64,
    bias: i32,
    english: [i32; 2],
    others: [i32; 2],
    rules_lowered: i32,
    rules_crisis: i32,
    levels: [i32; 6],
    kinds: [i32; 8],
}

/// Writes `lexicon.rs` and `model.rs`.
pub fn write(out: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed=evidence/lexicon");
    println!("cargo::rerun-if-changed=evidence/model.toml");
    let save =
        |name: &str, text: String| fs::write(out.join(name), text).map_err(|e| e.to_string());
    save("lexicon.rs", lexicon()?)?;
    save("model.rs", model()?)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn lexicon() -> Result<String, String> {
    let folder = Path::new("evidence/lexicon");
    let mut files: Vec<String> = fs::read_dir(folder)
        .map_err(|e| e.to_string())?
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .collect();
    // English first: it wins where a text has as many words of two languages.
    files.sort_by_key(|name| (name != "en.toml", name.clone()));
    let languages: Vec<&str> = files.iter().map(|name| name.trim_end_matches(".toml")).collect();
    let mut concepts: Vec<String> = Vec::new();
    let mut entries: BTreeSet<(String, usize, usize, bool)> = BTreeSet::new();
    for (language, name) in files.iter().enumerate() {
        let text = read(&folder.join(name))?;
        let file: BTreeMap<String, String> =
            toml::from_str(&text).map_err(|e| format!("{name}: {e}"))?;
        for (concept, words) in &file {
            // English names the concepts.
            if language == 0 {
                concepts.push(concept.clone());
            }
            let number = concepts.iter().position(|known| known == concept);
            let number = number.ok_or(format!("{name}: en.toml has no concept {concept}"))?;
            for word in words.split_whitespace() {
                let folded = fold(word.trim_end_matches('*'));
                if folded.is_empty() {
                    return Err(format!("{name}: {word} is not a word"));
                }
                entries.insert((folded, language, number, word.ends_with('*')));
            }
        }
    }
    let mut out = String::new();
    let _ = writeln!(out, "const LANGUAGES: [&str; {}] = {languages:?};", languages.len());
    let _ = writeln!(out, "static ENTRIES: &[LexiconEntry] = &[");
    for entry in entries {
        let _ = writeln!(out, "    {entry:?},");
    }
    let _ = writeln!(out, "];");
    Ok(out)
}

/// A word as the reader folds it.
fn fold(word: &str) -> String {
    split_words(word).into_iter().map(|word| word.text).collect()
}

fn model() -> Result<String, String> {
    let text = read(Path::new("evidence/model.toml"))?;
    let model: Model = toml::from_str(&text).map_err(|e| format!("model.toml: {e}"))?;
    let Model { word_scale, concept_scale, bias, english, others, .. } = model;
    let Model { rules_lowered, rules_crisis, levels, kinds, .. } = model;
    Ok(format!(
        "const NUMBERS: ModelNumbers = ModelNumbers {{ word_scale: {word_scale}, \
         concept_scale: {concept_scale}, bias: {bias}, english: {english:?}, others: {others:?}, \
         rules_lowered: {rules_lowered}, rules_crisis: {rules_crisis}, levels: {levels:?}, \
         kinds: {kinds:?} }};\n"
    ))
}
