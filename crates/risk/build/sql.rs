//! `rules/code/sql.toml` → static tables for SQL, Redis and the Mongo shell.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::{sentence, tier};
use crate::effects::effects;
use crate::examples::Examples;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    shapes: Vec<String>,
    functions: Vec<String>,
    statement: Vec<Statement>,
    redis: Vec<Statement>,
    mongo: Vec<Statement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    id: String,
    tier: String,
    #[serde(default)]
    production: String,
    effects: Vec<String>,
    message: String,
    #[serde(default)]
    suggestion: String,
    starts: Vec<String>,
    #[serde(default)]
    has: Vec<String>,
    #[serde(rename = "where", default)]
    filter: String,
    #[serde(default)]
    many: bool,
    #[serde(default)]
    tables: bool,
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
}

/// Reads the rule file and writes the tables into `out`; returns the examples.
pub fn generate(rules: &Path, out: &Path) -> Result<Vec<String>, String> {
    let name = rules.display();
    let text = std::fs::read_to_string(rules).map_err(|e| format!("{name}: {e}"))?;
    let file: File = toml::from_str(&text).map_err(|e| format!("{name}: {e}"))?;
    let shapes: Vec<Vec<&str>> = file.shapes.iter().map(|s| s.split(' ').collect()).collect();
    let mut table = format!("static SHAPES: &[&[&str]] = &{};\n", nested(&shapes));
    let verbs: BTreeSet<&str> = shapes.iter().filter_map(|s| s.first().copied()).collect();
    table.push_str("/// The first words of `SHAPES`, each once.\nstatic VERBS: &[&str] = &");
    table.push_str(&nested_words(&verbs));
    let functions: BTreeSet<&str> = file.functions.iter().map(String::as_str).collect();
    table.push_str("/// Functions that only compute, sorted.\nstatic FUNCTIONS: &[&str] = &");
    table.push_str(&nested_words(&functions));
    let mut shown = Vec::new();
    for (label, list) in [("SQL", &file.statement), ("REDIS", &file.redis), ("MONGO", &file.mongo)]
    {
        table.push_str("static ");
        table.push_str(label);
        table.push_str(": &[Statement] = &[\n");
        let mut examples = Examples::new(label);
        for statement in list {
            let line = line(statement).map_err(|e| format!("{name}: {}: {e}", statement.id))?;
            table.push_str(&line);
            examples
                .add(&statement.id, &statement.examples, &statement.counter_examples)
                .map_err(|e| format!("{name}: {e}"))?;
        }
        table.push_str("];\n");
        shown.push(examples.source());
    }
    std::fs::write(out.join("sql.rs"), table).map_err(|e| format!("sql.rs: {e}"))?;
    Ok(shown)
}

fn nested_words(words: &BTreeSet<&str>) -> String {
    format!("{:?};\n", words.iter().collect::<Vec<_>>())
}

fn nested(phrases: &[Vec<&str>]) -> String {
    let inner: Vec<String> = phrases.iter().map(|p| format!("&{p:?}")).collect();
    format!("[{}]", inner.join(", "))
}

fn line(statement: &Statement) -> Result<String, String> {
    sentence(&statement.id, &statement.message)?;
    if statement.starts.is_empty() {
        return Err("a rule needs `starts`".to_owned());
    }
    let production =
        if statement.production.is_empty() { &statement.tier } else { &statement.production };
    let filter = match statement.filter.as_str() {
        "" => "Any",
        "absent" => "Absent",
        "present" => "Present",
        other => return Err(format!("unknown where `{other}`")),
    };
    let starts: Vec<Vec<&str>> = statement.starts.iter().map(|s| s.split(' ').collect()).collect();
    Ok(format!(
        "  Statement {{ id: {:?}, tier: Tier::{}, production: Tier::{}, effects: {}, message: {:?}, \
         suggestion: {:?}, starts: &{}, initials: {:#x}, has: &{:?}, filter: Filter::{filter}, \
         many: {}, tables: {} }},\n",
        statement.id,
        tier(&statement.tier)?,
        tier(production)?,
        effects(&statement.effects)?,
        statement.message,
        statement.suggestion,
        nested(&starts),
        starts.iter().fold(0, |set, phrase| set | initial(phrase)),
        statement.has,
        statement.many,
        statement.tables,
    ))
}

/// The bit of a phrase's first letter; a phrase that may begin with anything has all bits.
fn initial(phrase: &[&str]) -> u32 {
    match phrase.first().and_then(|word| word.bytes().next()) {
        None | Some(b'*' | b'?') => u32::MAX,
        Some(letter) if letter.is_ascii_alphabetic() => 1 << (letter & 31),
        Some(_) => 1,
    }
}
