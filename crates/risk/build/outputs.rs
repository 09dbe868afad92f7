//! `[[output]]` and `[[file_change]]` of `rules/structure.toml` → what programs write, and which
//! files they change.

use std::fmt::Write as _;

use serde::Deserialize;

/// What a program writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    programs: Vec<String>,
    #[serde(default)]
    sub: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    bare: bool,
    gives: String,
    /// Lines that have the finding of this kind of output.
    pub examples: Vec<String>,
    /// Lines that do not have it.
    pub counter_examples: Vec<String>,
}

impl Output {
    /// The finding that shows this kind of output, and the variant of `OutputKind`.
    fn kind(&self) -> Result<(&'static str, &'static str), String> {
        Ok(match self.gives.as_str() {
            "input" => ("shell.remote-code", "Input"),
            "file_names" => ("exfiltration.upload", "FileNames"),
            "local" => ("exfiltration.upload", "Local"),
            "secret" => ("exfiltration.secret-sent", "Secret"),
            "base64" => ("shell.decoded-code", "Base64"),
            "base32" => ("shell.decoded-code", "Base32"),
            "hex" => ("shell.decoded-code", "Hex"),
            "decoded" => ("shell.decoded-code", "Decoded"),
            other => return Err(format!("no output `{other}`")),
        })
    }

    /// The id of the finding that its examples have.
    pub fn finding(&self) -> Result<&'static str, String> {
        Ok(self.kind()?.0)
    }
}

/// The table of outputs as Rust source.
pub fn outputs(rules: &[Output]) -> Result<String, String> {
    let mut rows = String::new();
    for rule in rules {
        let Output { programs, sub, options, with, unless, bare, .. } = rule;
        if rule.examples.is_empty() || rule.counter_examples.is_empty() {
            return Err(format!("output of {programs:?}: give examples and counter-examples"));
        }
        let kind = rule.kind()?.1;
        let _ = writeln!(
            rows,
            "OutputRule {{ programs: &{programs:?}, sub: &{sub:?}, options: &{options:?}, \
             with: &{with:?}, unless: &{unless:?}, bare: {bare}, gives: OutputKind::{kind} }},"
        );
    }
    Ok(format!("static OUTPUT_RULES: &[OutputRule] = &[\n{rows}];\n"))
}

/// Which files a program changes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileChange {
    programs: Vec<String>,
    options: String,
    operands: String,
    example: String,
    changes: Vec<String>,
}

/// The table of changed files and its examples as Rust source.
pub fn file_changes(rules: &[FileChange]) -> Result<String, String> {
    let (mut rows, mut examples) = (String::new(), String::new());
    for rule in rules {
        let FileChange { programs, options, example, changes, .. } = rule;
        let operands = match rule.operands.as_str() {
            "each" => "Each",
            "all_but_first" => "AllButFirst",
            "new_folders" => "NewFolders",
            "into_last" => "IntoLast",
            "move_into_last" => "MoveIntoLast",
            other => return Err(format!("file change of {programs:?}: no operands `{other}`")),
        };
        let _ = writeln!(
            rows,
            "FileChangeRule {{ programs: &{programs:?}, options: {options:?}, \
             operands: ChangedOperands::{operands} }},"
        );
        let _ = writeln!(examples, "({example:?}, &{changes:?}),");
    }
    Ok(format!(
        "static FILE_CHANGE_RULES: &[FileChangeRule] = &[\n{rows}];\n\
         #[cfg(test)]\nstatic FILE_CHANGE_EXAMPLES: &[(&str, &[&str])] = &[\n{examples}];\n"
    ))
}
