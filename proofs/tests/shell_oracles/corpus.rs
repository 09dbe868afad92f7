//! The texts on which readers are compared.

use std::fs;

use countersign_risk::rules;

/// Environment variable that names one more corpus: JSONL with a field `command`.
const EXTRA: &str = "COUNTERSIGN_CORPUS";

/// Texts whose line ends an editor or git would not leave alone.
const LINE_ENDS: [&str; 8] = [
    "echo a\r\necho b\r\n",
    "if true; then\r\n  echo a\r\nfi\r\n",
    "cat <<EOF\r\nhi\r\nEOF\r\n",
    "echo a \\\r\n  b\r\n",
    "echo a\rb",
    "echo a\n",
    "\n\necho a\n\n\n",
    "\techo\ta\t;\techo b",
];

/// What we wrote ourselves to walk through the grammar, right and wrong.
pub fn grammar() -> Vec<String> {
    let lines = include_str!("../../corpus/lines.txt").lines();
    let blocks = include_str!("../../corpus/blocks.txt").split("%%\n");
    lines.chain(blocks).chain(LINE_ENDS).map(str::to_owned).collect()
}

/// Grammar, the rules' own lines and what the environment names, each text once.
pub fn all() -> Vec<String> {
    let mut texts = grammar();
    for rule in rules::commands() {
        texts.extend(rule.examples.iter().map(|&l| l.to_owned()));
        texts.extend(rule.counter_examples.iter().map(|&l| l.to_owned()));
    }
    if let Ok(path) = std::env::var(EXTRA) {
        let file = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{EXTRA}={path}: {e}"));
        for line in file.lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            texts.extend(row["command"].as_str().map(str::to_owned));
        }
    }
    // Bash drops NUL bytes from what it reads; nothing to compare there.
    texts.retain(|t| !t.contains('\0'));
    texts.sort();
    texts.dedup();
    texts
}

/// Whether texts from outside are part of it.
pub fn is_extended() -> bool {
    std::env::var_os(EXTRA).is_some()
}
