//! `Qwen3Guard-Gen`: its prompt for each role, and the exact form of its reply.

use std::collections::BTreeSet;

use crate::defuse::defuse;
use crate::verdict::{GuardCategory, GuardFailure, GuardRole, GuardVerdict};

const USER_PROMPT: &str = include_str!("../prompts/qwen3_user.txt");
const AGENT_PROMPT: &str = include_str!("../prompts/qwen3_agent.txt");

/// The category that exists for the texts of people only.
const JAILBREAK: &str = "Jailbreak";

const CATEGORIES: [GuardCategory; 9] = [
    GuardCategory::new("Violent", "Violent"),
    GuardCategory::new("Non-violent Illegal Acts", "Non-violent Illegal Acts"),
    GuardCategory::new("Sexual Content or Sexual Acts", "Sexual Content or Sexual Acts"),
    GuardCategory::new("PII", "Personal Information"),
    GuardCategory::self_harm("Suicide & Self-Harm", "Suicide & Self-Harm"),
    GuardCategory::new("Unethical Acts", "Unethical Acts"),
    GuardCategory::new("Politically Sensitive Topics", "Politically Sensitive Topics"),
    GuardCategory::new("Copyright Violation", "Copyright Violation"),
    GuardCategory::new(JAILBREAK, JAILBREAK),
];

/// The raw prompt.
pub fn prompt(role: GuardRole, text: &str) -> String {
    let (template, word) = match role {
        GuardRole::User => (USER_PROMPT, "USER"),
        GuardRole::Agent => (AGENT_PROMPT, "ASSISTANT"),
    };
    let of_role = |category: &&GuardCategory| role == GuardRole::User || category.code != JAILBREAK;
    let mut categories = String::new();
    for category in CATEGORIES.iter().filter(of_role) {
        categories.extend([category.code, ".\n"]);
    }
    template.replace("{categories}", &categories).replacen(
        "{conversation}",
        &format!("{word}: {}\n\n", defuse(text)),
        1,
    )
}

/// Reads a reply: a line `Safety:`, a line `Categories:`, and for the agent's texts a line
/// `Refusal:`. *Controversial* counts as unsafe.
pub fn parse(role: GuardRole, reply: &str) -> GuardVerdict {
    read(role, reply).unwrap_or(GuardVerdict::Unavailable(GuardFailure::Unparseable))
}

fn read(role: GuardRole, reply: &str) -> Option<GuardVerdict> {
    let mut lines = reply.trim_matches(['\n', ' ']).split('\n');
    let safety = lines.next()?.strip_prefix("Safety: ")?;
    let categories = lines.next()?.strip_prefix("Categories: ")?;
    if role == GuardRole::Agent {
        let refusal = lines.next()?.strip_prefix("Refusal: ")?;
        if !matches!(refusal, "Yes" | "No") {
            return None;
        }
    }
    if lines.next().is_some() {
        return None;
    }
    match (safety, categories) {
        ("Safe", "None") => Some(GuardVerdict::Safe),
        ("Unsafe" | "Controversial", "None") => Some(GuardVerdict::Unsafe(BTreeSet::new())),
        ("Unsafe" | "Controversial", named) => read_names(named).map(GuardVerdict::Unsafe),
        _ => None,
    }
}

fn read_names(line: &str) -> Option<BTreeSet<GuardCategory>> {
    line.split(", ").map(|name| CATEGORIES.iter().copied().find(|one| one.code == name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_replies_are_read() {
        let (user, agent) = (GuardRole::User, GuardRole::Agent);
        assert_eq!(parse(user, "Safety: Safe\nCategories: None"), GuardVerdict::Safe);
        let reply = "Safety: Safe\nCategories: None\nRefusal: Yes\n";
        assert_eq!(parse(agent, reply), GuardVerdict::Safe);
        let found = parse(user, "Safety: Unsafe\nCategories: Violent, Suicide & Self-Harm");
        assert!(found.is_self_harm());
        let unsure = parse(agent, "Safety: Controversial\nCategories: PII\nRefusal: No");
        assert!(matches!(unsure, GuardVerdict::Unsafe(found) if found.len() == 1));
        let bare = parse(user, "Safety: Controversial\nCategories: None");
        assert_eq!(bare, GuardVerdict::Unsafe(BTreeSet::new()));
    }

    #[test]
    fn every_other_reply_is_no_verdict() {
        for reply in [
            "",
            "safe",
            "Safety: Safe",
            "Safety: Safe\n",
            "Safety: safe\nCategories: None",
            "Safety: Safe\nCategories: Violent",
            "Safety: Safe\nCategories: none",
            "Safety: Safe\nCategories: None\nSafety: Unsafe",
            "Safety: Safely\nCategories: None",
            "**Safety: Safe**\nCategories: None",
            "Safety: Unsafe\nCategories: Nonsense",
            "I think Safety: Safe\nCategories: None",
            "Safety:Safe\nCategories:None",
            "Safety: Safe\nCategories: None\nRefusal: Maybe",
            "Safety: Safe\r\nCategories: None",
        ] {
            for role in [GuardRole::User, GuardRole::Agent] {
                let verdict = parse(role, reply);
                let none = GuardVerdict::Unavailable(GuardFailure::Unparseable);
                assert_eq!(verdict, none, "{reply:?}");
            }
        }
        let two_lines = "Safety: Safe\nCategories: None";
        assert_ne!(parse(GuardRole::Agent, two_lines), GuardVerdict::Safe, "a line is missing");
    }

    #[test]
    fn the_prompt_names_the_role_and_its_categories() {
        let user = prompt(GuardRole::User, "hello<|im_end|>");
        assert!(user.contains("THE LAST **USER's query**") && user.contains("Jailbreak.\n<END"));
        assert_eq!(user.matches("<|im_end|>").count(), 1);
        let agent = prompt(GuardRole::Agent, "hello");
        assert!(agent.contains("\nASSISTANT: hello\n\n<END") && !agent.contains("Jailbreak"));
        assert!(agent.ends_with("</think>\n\n"));
    }
}
