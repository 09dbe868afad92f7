//! `rules/structure.toml` → findings that come from the structure of a call, and lists of names.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::code::{sentence, tier};
use crate::examples::Examples;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    build_files: Vec<String>,
    program_folders: Vec<String>,
    skill_folders: Vec<String>,
    cross_machines: Vec<String>,
    cross_tools: Vec<String>,
    example_programs: Vec<String>,
    example_patterns: Vec<String>,
    look_nouns: Vec<String>,
    config_options: Vec<String>,
    secret_variables: Vec<String>,
    everyone: Vec<String>,
    nouns: Vec<String>,
    edit_rules: Vec<String>,
    production_words: Vec<String>,
    staging_words: Vec<String>,
    development_words: Vec<String>,
    local_contexts: Vec<String>,
    shell_state: Vec<String>,
    finding: Vec<Structure>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Structure {
    name: String,
    id: String,
    #[serde(default)]
    about: About,
    tier: String,
    message: String,
    suggestion: Option<String>,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
    tested_in: Option<String>,
}

/// What the examples are.
#[derive(Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum About {
    #[default]
    Command,
    Tool,
}

/// Reads the file and writes the tables into `out`; returns the examples.
pub fn generate(path: &Path, out: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file: File = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut examples = Examples::new("STRUCTURE");
    let (mut source, mut lists) = (String::new(), String::new());
    for (name, words) in [
        ("BUILD_FILES", &file.build_files),
        ("PROGRAM_FOLDERS", &file.program_folders),
        ("SKILL_FOLDERS", &file.skill_folders),
        ("CROSS_MACHINES", &file.cross_machines),
        ("CROSS_TOOLS", &file.cross_tools),
        ("EXAMPLE_PROGRAMS", &file.example_programs),
        ("EXAMPLE_PATTERNS", &file.example_patterns),
        ("LOOK_NOUNS", &file.look_nouns),
        ("CONFIG_OPTIONS", &file.config_options),
        ("SECRET_VARIABLES", &file.secret_variables),
        ("EVERYONE", &file.everyone),
        ("NOUNS", &file.nouns),
        ("EDIT_RULES", &file.edit_rules),
        ("PRODUCTION_WORDS", &file.production_words),
        ("STAGING_WORDS", &file.staging_words),
        ("DEVELOPMENT_WORDS", &file.development_words),
        ("LOCAL_CONTEXTS", &file.local_contexts),
        ("SHELL_STATE", &file.shell_state),
    ] {
        if !words.is_sorted() {
            return Err(format!("{}: {name} is not sorted", path.display()));
        }
        let _ = writeln!(lists, "pub(crate) static {name}: &[&str] = &{words:?};");
    }
    let mut all = String::new();
    for finding in &file.finding {
        add(finding, &mut source, &mut all, &mut examples)
            .map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let _ = writeln!(source, "pub(crate) static ALL: &[(bool, StructuralRule)] = &[{all}];");
    fs::write(out.join("name_lists.rs"), lists).map_err(|e| e.to_string())?;
    fs::write(out.join("structure.rs"), source).map_err(|e| e.to_string())?;
    Ok(examples.source())
}

fn add(
    finding: &Structure,
    source: &mut String,
    all: &mut String,
    examples: &mut Examples,
) -> Result<(), String> {
    let Structure { id, message, suggestion, .. } = finding;
    sentence(id, message)?;
    let name = finding.name.to_uppercase();
    let _ = writeln!(
        source,
        "/// {message}\npub const {name}: StructuralRule = StructuralRule {{ code: {id:?}, \
         tier: Tier::{}, message: {message:?}, suggestion: {suggestion:?} }};",
        tier(&finding.tier)?,
    );
    let _ = write!(all, "({}, {name}), ", finding.about == About::Tool);
    match &finding.tested_in {
        None => examples.add(id, &finding.examples, &finding.counter_examples),
        // One line cannot show it.
        Some(test) => {
            let text = fs::read_to_string(Path::new("../..").join(test));
            if !text.is_ok_and(|text| text.contains(&format!("\"{id}\""))) {
                return Err(format!("{id}: {test} does not test it"));
            }
            examples.none();
            Ok(())
        }
    }
}
