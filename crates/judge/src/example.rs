//! What people decided about earlier calls, as examples for the model: few, short, without secrets.

use std::collections::VecDeque;

use countersign_json::write_string;
use countersign_redact::redact_text;
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;

use crate::comparison::PersonChoice;

/// The most examples in a prompt.
pub const MAX_EXAMPLES: usize = 6;
/// The longest summary of an example, in bytes.
const MAX_TEXT: usize = 160;

/// A call that a person decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedExample {
    tool: String,
    summary: String,
    tier: Tier,
    choice: PersonChoice,
}

impl DecidedExample {
    /// An example from a card's tool and sentence.
    pub fn new(tool: &str, summary: &str, tier: Tier, choice: PersonChoice) -> DecidedExample {
        let short =
            |text: &str| sanitize_within(&redact_text(text).text, MAX_TEXT).text.into_owned();
        DecidedExample { tool: short(tool), summary: short(summary), tier, choice }
    }

    /// Adds an example to the newest ones. Approvals and denials have half of the room each,
    /// because people approve nearly everything and the denials teach more.
    pub fn remember(self, examples: &mut VecDeque<DecidedExample>) {
        if examples.contains(&self) {
            return;
        }
        let choice = self.choice;
        examples.push_back(self);
        let same = |one: &&DecidedExample| one.choice == choice;
        if examples.iter().filter(same).count() > MAX_EXAMPLES / 2
            && let Some(oldest) = examples.iter().position(|one| one.choice == choice)
        {
            examples.remove(oldest);
        }
    }

    /// Appends it as JSON.
    pub(crate) fn write(&self, out: &mut String) {
        out.push_str("{\"tool\":");
        write_string(&self.tool, out);
        out.push_str(",\"summary\":");
        write_string(&self.summary, out);
        out.push_str(",\"tier\":");
        write_string(self.tier.label(), out);
        out.push_str(",\"person\":");
        write_string(self.choice.label(), out);
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_examples_of_both_kinds_stay_and_hold_no_secret() {
        let mut kept = VecDeque::new();
        for number in 0..50 {
            let choice = if number == 3 { PersonChoice::Denied } else { PersonChoice::Approved };
            let text = format!("Runs step {number} with password=hunter2hunter2");
            DecidedExample::new("shell", &text, Tier::Medium, choice).remember(&mut kept);
        }
        assert_eq!(kept.len(), MAX_EXAMPLES / 2 + 1);
        assert!(kept.iter().any(|one| one.choice == PersonChoice::Denied));
        assert!(kept.iter().any(|one| one.summary.contains("49")));
        assert!(kept.iter().all(|one| !one.summary.contains("hunter2")), "{kept:?}");
    }
}
