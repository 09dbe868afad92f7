//! The help texts are a golden file, so that they change only on purpose.
//!
//! After an intended change: `UPDATE_GOLDEN=1 cargo test -p countersign --test command`.

use std::fmt::Write as _;

use super::binary::{run, stdout};

/// The commands whose own help is compared.
const PLAIN: [&str; 41] = [
    "serve",
    "service",
    "ask",
    "inbox",
    "pending",
    "show",
    "approve",
    "deny",
    "cancel",
    "watch",
    "history",
    "stats",
    "undo",
    "login",
    "logout",
    "people",
    "agents",
    "grants",
    "crises",
    "channel",
    "ledger",
    "keys",
    "permit",
    "config",
    "doctor",
    "install",
    "uninstall",
    "status",
    "mcp",
    "assess",
    "screen",
    "helplines",
    "plan",
    "rules",
    "policy",
    "eval",
    "import",
    "replay",
    "rollout",
    "a2a",
    "pki",
];

#[test]
fn help_is_what_it_was() {
    let mut text = String::new();
    let below = [
        ["people", "add"],
        ["agents", "add"],
        ["grants", "give"],
        ["crises", "resolve"],
        ["channel", "link"],
        ["channel", "unlink"],
        ["channel", "add"],
        ["ledger", "show"],
        ["ledger", "verify"],
        ["ledger", "prove"],
        ["ledger", "export"],
        ["undo", "list"],
        ["undo", "show"],
        ["undo", "prune"],
        ["permit", "verify"],
        ["config", "check"],
        ["policy", "explain"],
        ["policy", "diff"],
        ["rules", "list"],
        ["rules", "explain"],
        ["rules", "check"],
    ];
    let mut commands: Vec<Vec<&str>> = vec![vec![], vec!["--help"]];
    commands.extend(PLAIN.iter().map(|name| vec![*name, "--help"]));
    commands.extend(below.iter().map(|[name, what]| vec![*name, *what, "--help"]));
    commands.push(vec!["--version"]);
    for words in commands {
        let output = run(&words);
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        writeln!(text, "$ countersign {}\n{}", words.join(" "), stdout(&output)).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/help.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert!(text == golden, "help changed; see the head of this file. Now:\n{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 110), "too wide for a terminal");
}
