//! `rules/structure.toml` → findings that come from the structure of a call, and lists of names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::code::{sentence, tier};
use crate::examples::Examples;
use crate::outputs::{self, FileChange, Output};

#[derive(Deserialize)]
struct StructureFile {
    finding: Vec<Structure>,
    output: Vec<Output>,
    file_change: Vec<FileChange>,
    /// Each becomes a static of this name. The compiler reports one that is not used.
    #[serde(flatten)]
    lists: BTreeMap<String, Vec<String>>,
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
    let mut file: StructureFile =
        toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    tables(&mut file, out).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut examples = Examples::new("STRUCTURE");
    let (mut source, mut lists) = (String::new(), String::new());
    for (name, words) in &file.lists {
        let name = name.to_uppercase();
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

/// Writes the tables about programs. Examples of outputs become examples of the finding that shows
/// them.
fn tables(file: &mut StructureFile, out: &Path) -> Result<(), String> {
    for output in &file.output {
        let id = output.finding()?;
        let finding = file.finding.iter_mut().find(|finding| finding.id == id);
        let finding = finding.ok_or_else(|| format!("no finding `{id}`"))?;
        finding.examples.extend(output.examples.iter().cloned());
        finding.counter_examples.extend(output.counter_examples.iter().cloned());
    }
    let outputs = outputs::outputs(&file.output)?;
    fs::write(out.join("program_outputs.rs"), outputs).map_err(|e| e.to_string())?;
    let changes = outputs::file_changes(&file.file_change)?;
    fs::write(out.join("file_changes.rs"), changes).map_err(|e| e.to_string())
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
