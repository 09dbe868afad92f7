//! The commands that are measured.

use std::collections::BTreeSet;

use countersign_risk::rules;

/// From a JSONL file, or the examples and counter-examples of the shipped rules; each once.
pub fn commands(path: Option<&str>) -> Result<Vec<String>, String> {
    let mut found = BTreeSet::new();
    if let Some(path) = path {
        let file = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
        for (at, line) in file.lines().enumerate() {
            let row: serde_json::Value =
                serde_json::from_str(line).map_err(|e| format!("{path}:{}: {e}", at + 1))?;
            found.extend(row.get("command").and_then(|c| c.as_str()).map(str::to_owned));
        }
    } else {
        for rule in rules::commands() {
            let lines = rule.examples.iter().chain(rule.counter_examples);
            found.extend(lines.map(|&line| line.to_owned()));
        }
    }
    if found.is_empty() {
        return Err("there are no commands to measure".to_owned());
    }
    Ok(found.into_iter().collect())
}
