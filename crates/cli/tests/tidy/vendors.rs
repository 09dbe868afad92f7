//! One vendor, one file: an agent's name is in its own file below `agents`, and nowhere else.

use countersign_gateways::agents::AGENTS;

use crate::files::{product, read, shown};
use crate::ratchet::{Counts, hold};
use crate::source::without_tests;

/// How often a text names an agent. A name that is also an English word counts only in quotes or as
/// the agent's folder.
fn count(text: &str, agent: &str) -> usize {
    let patterns = match agent {
        "cursor" => vec![format!("\"{agent}\""), format!(".{agent}/")],
        _ => vec![agent.to_owned()],
    };
    patterns.iter().map(|pattern| text.matches(pattern.as_str()).count()).sum()
}

fn is_own_file(file: &str, agent: &str) -> bool {
    let own = format!("crates/gateways/src/agents/{agent}");
    file == format!("{own}.rs") || file.starts_with(&format!("{own}/"))
}

#[test]
fn an_agent_is_named_in_its_own_file_only() {
    let mut found = Counts::new();
    for path in product() {
        let file = shown(&path);
        let text = without_tests(&read(&path)).to_lowercase();
        for agent in AGENTS.iter().filter(|agent| !is_own_file(&file, agent.name)) {
            let times = count(&text, agent.name);
            // The list of agents: the line `mod NAME;` and the line in `AGENTS`.
            let allowed = if file == "crates/gateways/src/agents/mod.rs" { 2 } else { 0 };
            if times > allowed {
                *found.entry(file.clone()).or_default() += times - allowed;
            }
        }
    }
    let what_to_do = "an agent is named outside its own file: add a field to AgentDescriptor";
    hold("vendors", &found, what_to_do);
}

#[test]
fn names_are_counted() {
    assert_eq!(count("the codex of codex", "codex"), 2);
    assert_eq!(count("a cursor, \"cursor\", .cursor/mcp.json", "cursor"), 2);
    assert!(is_own_file("crates/gateways/src/agents/codex/trust.rs", "codex"));
    assert!(!is_own_file("crates/gateways/src/agents/claude.rs", "codex"));
}
