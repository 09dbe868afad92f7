//! `rules/headlines.toml` → the rows that name the object of a call.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    defer: Vec<String>,
    command: Vec<Row>,
    tool: Vec<Row>,
    sql: Vec<Row>,
    redis: Vec<Row>,
    mongo: Vec<Row>,
    example: Vec<Example>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(rename = "match")]
    pattern: Vec<String>,
    headline: String,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    rules: Vec<String>,
    #[serde(default)]
    examples: Vec<[String; 2]>,
}

/// A call whose summary has no row of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    call: String,
    summary: String,
}

/// Reads the file and writes the tables into `out`.
pub fn generate(path: &Path, out: &Path) -> Result<(), String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
    let file: File = toml::from_str(&text).map_err(|e| format!("{name}: {e}"))?;
    let all = [&file.command, &file.tool, &file.sql, &file.redis, &file.mongo];
    for row in all.into_iter().flatten() {
        check(row).map_err(|e| format!("{name}: {}: {e}", row.headline))?;
    }
    let mut source = commands(&file.command);
    for (table, rows) in
        [("TOOLS", &file.tool), ("SQL", &file.sql), ("REDIS", &file.redis), ("MONGO", &file.mongo)]
    {
        let _ = writeln!(source, "pub(crate) static {table}: &[Row] = &[");
        for row in rows {
            let Row { pattern, rules, headline, .. } = row;
            let _ = writeln!(
                source,
                "Row {{ words: &{pattern:?}, rules: &{rules:?}, headline: {headline:?} }},"
            );
        }
        source.push_str("];\n");
    }
    let _ = writeln!(source, "pub(crate) static DEFERRED: &[&str] = &{:?};", file.defer);
    source.push_str("#[cfg(test)]\npub(crate) static EXAMPLES: &[Example] = &[\n");
    let rows = all.into_iter().flatten().flat_map(|row| &row.examples);
    let pairs = rows.map(|[call, summary]| (call, summary));
    for (call, summary) in pairs.chain(file.example.iter().map(|e| (&e.call, &e.summary))) {
        let _ = writeln!(source, "Example {{ call: {call:?}, summary: {summary:?} }},");
    }
    source.push_str("];\n");
    fs::write(out.join("headlines.rs"), source).map_err(|e| format!("headlines.rs: {e}"))
}

/// `gh|hub repo delete`: programs, then globs on the operands behind them.
fn commands(rows: &[Row]) -> String {
    let mut source = "static COMMANDS: &[CommandRow] = &[\n".to_owned();
    let (mut count, mut by_program) = (0, BTreeMap::<String, Vec<usize>>::new());
    for row in rows {
        for pattern in &row.pattern {
            let mut parts = pattern.split(' ').map(|part| part.split('|').collect::<Vec<_>>());
            let programs = parts.next().unwrap_or_default();
            for program in programs.iter().collect::<BTreeSet<_>>() {
                by_program.entry(program.to_ascii_lowercase()).or_default().push(count);
            }
            count += 1;
            let words: Vec<String> = parts.map(|globs| format!("&{globs:?}")).collect();
            let _ = writeln!(
                source,
                "CommandRow {{ words: &[{}], flags: &{:?}, headline: {:?} }},",
                words.join(", "),
                row.flags,
                row.headline
            );
        }
    }
    source.push_str("];\n");
    let by_program = by_program.iter().map(|(name, rows)| format!("({name:?}, &{rows:?}), "));
    let by_program: String = by_program.collect();
    let _ = writeln!(source, "static BY_PROGRAM: &[(&str, &[u16])] = &[{by_program}];");
    source
}

fn check(row: &Row) -> Result<(), String> {
    let text = &row.headline;
    let lower = text.to_lowercase();
    if ["safe", "harmless", "no risk"].iter().any(|word| lower.contains(word)) {
        return Err("no headline may say that a call is harmless".to_owned());
    }
    if !text.starts_with(|c: char| c.is_ascii_uppercase()) || text.ends_with('.') {
        return Err("a headline begins with a capital and has no full stop".to_owned());
    }
    let mut open = Vec::new();
    for c in text.chars() {
        match (c, open.last()) {
            ('{', Some('{')) | ('[', Some(_)) => return Err("brackets do not nest".to_owned()),
            ('{' | '[', _) => open.push(c),
            ('}', Some('{')) | (']', Some('[')) => drop(open.pop()),
            ('}' | ']', _) => return Err("a bracket is not opened".to_owned()),
            _ => {}
        }
    }
    if !open.is_empty() || row.pattern.is_empty() {
        return Err("a bracket is not closed, or nothing is matched".to_owned());
    }
    if text.contains('{') && row.examples.is_empty() {
        return Err("a headline with an object needs an example".to_owned());
    }
    Ok(())
}
