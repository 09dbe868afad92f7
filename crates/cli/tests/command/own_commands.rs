//! Our own commands as an agent's shell commands: each that decides or changes rights is CRITICAL,
//! also one that is added later.

use super::binary::{run, stdout};

/// Commands that only look, or only ask.
const HARMLESS: &[&str] = &[
    "a2a agents",
    "a2a card",
    "a2a status",
    "agents list",
    "ask",
    "assess",
    "cancel",
    "channel accounts",
    "channel list",
    "config check",
    "config example",
    "config path",
    "crises list",
    "crises report",
    "doctor",
    "eval",
    "grants list",
    "grants shapes",
    "grants suggestions",
    "helplines check",
    "history",
    "judge explain",
    "judge report",
    "keys rotations",
    "keys show",
    "keys tls",
    "ledger export",
    "ledger prove",
    "ledger show",
    "ledger verify",
    "pending",
    "people list",
    "people sessions",
    "permit verify",
    "pki list",
    "plan",
    "policy check",
    "policy diff",
    "policy explain",
    "policy projects",
    "policy show",
    "policy test",
    "reviews list",
    "reviews show",
    "rules check",
    "rules explain",
    "rules list",
    "screen",
    "servers list",
    "servers show",
    "service health",
    "service logs",
    "service status",
    "show",
    "stats",
    "status",
    "undo list",
    "undo show",
    "watch",
];
/// Commands that do something without deciding anything for a person: MEDIUM or HIGH.
const OTHERS: &[&str] = &[
    "a2a cancel",
    "a2a send",
    "a2a serve",
    "channel test",
    "freeze",
    "help",
    "hook",
    "import",
    "inbox",
    "install",
    "judge test",
    "mcp install",
    "pki renew",
    "replay",
    "rollout",
    "serve",
    "undo",
];

/// The commands below these words, as their help lists them.
fn below(words: &[&str]) -> Vec<String> {
    let mut args = words.to_vec();
    args.push("--help");
    let help = stdout(&run(&args));
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let name = |line: &str| {
        line.strip_prefix("  ").and_then(|rest| rest.split(' ').next().map(str::to_owned))
    };
    lines.filter_map(name).filter(|name| !name.is_empty() && name != "help").collect()
}

fn tier(command: &str) -> String {
    let text = format!("countersign {command} x");
    let output = run(&["assess", "--json", &text]);
    let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    seen["tier"].as_str().unwrap().to_owned()
}

#[test]
fn every_command_that_decides_or_changes_rights_is_critical() {
    let mut commands = Vec::new();
    for name in below(&[]) {
        let inner = below(&[&name]);
        if inner.is_empty() || name == "undo" {
            commands.push(name.clone());
        }
        commands.extend(inner.into_iter().map(|inner| format!("{name} {inner}")));
    }
    assert!(commands.len() > 80, "{commands:?}");
    let mut wrong = Vec::new();
    for command in &commands {
        let tier = tier(command);
        let decides = !HARMLESS.contains(&command.as_str()) && !OTHERS.contains(&command.as_str());
        let expected = decides == (tier == "CRITICAL");
        if !expected {
            wrong.push(format!("{command}: {tier}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
