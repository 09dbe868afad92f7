//! Labelled corpora: the files and their rows.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use crate::engine::{Environment, Value};
use crate::failure::Failure;

/// The content of a row.
pub enum RowSubject<'a> {
    /// A shell command.
    Command(&'a str),
    /// A tool call.
    Tool {
        /// The tool.
        name: &'a str,
        /// Its arguments.
        arguments: &'a Value<'a>,
    },
    /// A message.
    Text(&'a str),
}

/// One labelled row.
pub struct LabelledRow<'a> {
    /// What is assessed.
    pub subject: RowSubject<'a>,
    /// The label.
    pub label: &'a str,
    /// What a tool call does: read, write or code.
    pub effect: Option<&'a str>,
    /// Its origin: container-build, ci-step, …
    pub class: Option<&'a str>,
    /// A harmless row that looks dangerous.
    pub look_alike: bool,
    /// The language of a text.
    pub lang: Option<&'a str>,
    /// Why it has this label.
    pub why: Option<&'a str>,
    /// The sources disagree; not counted.
    pub policy_dependent: bool,
}

impl<'a> LabelledRow<'a> {
    /// Parses a row; the error names the wrong field.
    pub fn read(value: &'a Value<'a>) -> Result<LabelledRow<'a>, String> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let label = text("label").ok_or("no string `label`")?;
        let subject = if let Some(command) = text("command") {
            RowSubject::Command(command)
        } else if let Some(name) = text("tool") {
            let arguments = value.get("arguments").unwrap_or(&Value::Null);
            RowSubject::Tool { name, arguments }
        } else if let Some(message) = text("text") {
            RowSubject::Text(message)
        } else {
            return Err("neither `command`, `tool` nor `text`".to_owned());
        };
        Ok(LabelledRow {
            subject,
            label,
            effect: text("effect"),
            class: text("class"),
            look_alike: text("role") == Some("lookalike"),
            lang: text("lang"),
            why: text("why"),
            policy_dependent: value.get("policy_dependent") == Some(&Value::Bool(true)),
        })
    }

    /// The environment that the class of the row implies.
    pub fn implied_environment(&self) -> Option<Environment> {
        match self.class {
            Some("container-build") => Some(Environment::Container),
            Some("ci-step") => Some(Environment::Ci),
            _ => None,
        }
    }

    /// The row as one text, for a list of misses.
    pub fn excerpt(&self) -> Cow<'a, str> {
        match self.subject {
            RowSubject::Command(text) | RowSubject::Text(text) => Cow::Borrowed(text),
            RowSubject::Tool { name, arguments } => {
                Cow::Owned(format!("{name} {}", flat(arguments)))
            }
        }
    }
}

fn flat(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(text) => text.to_string(),
        Value::String(text) => format!("\"{text}\""),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flat).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{key}: {}", flat(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The named files; directories are searched for `*.jsonl`; each once, in order.
pub fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in named {
        let place = path.display().to_string();
        let about = fs::metadata(path).map_err(|e| Failure::at(&place, e))?;
        if about.is_dir() {
            let before = found.len();
            walk(path, 0, &mut found)?;
            if found.len() == before {
                return Err(Failure::at(&place, "no *.jsonl file in this folder"));
            }
        } else {
            found.push(path.clone());
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    Ok(found)
}

fn walk(folder: &Path, depth: u8, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let place = folder.display().to_string();
    let listing = fs::read_dir(folder).map_err(|e| Failure::at(&place, e))?;
    let mut entries = Vec::new();
    for entry in listing {
        entries.push(entry.map_err(|e| Failure::at(&place, e))?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() && depth < 16 {
            walk(&path, depth + 1, found)?;
        } else if path.extension().is_some_and(|e| e == "jsonl") {
            found.push(path);
        }
    }
    Ok(())
}
