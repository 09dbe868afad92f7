//! Grants in words, the same on every surface.

use super::{Grant, GrantShape};

/// The most recipients or commands that are named.
const NAMED: usize = 5;

impl Grant {
    /// What it covers, in words. The text is not sanitized.
    pub fn words(&self) -> String {
        match &self.shape {
            GrantShape::Exact { digest } => match &self.details.shown {
                Some(call) => format!("exactly `{call}`"),
                None => format!("exactly the call {:.16}…", digest.canonical.to_string()),
            },
            GrantShape::Action { tool } => format!("every {tool} call below HIGH"),
            GrantShape::Targets { tool, targets } => {
                let named = targets.get(..NAMED.min(targets.len())).unwrap_or_default().join(", ");
                match targets.len().saturating_sub(NAMED) {
                    0 => format!("{tool} to {named}"),
                    more => format!("{tool} to {named} and {more} more"),
                }
            }
            GrantShape::ToSelf { tool } => format!("{tool} to the agent's own user"),
            GrantShape::Command(shape) => shape.words(),
            GrantShape::ToolCall(shape) => shape.words(),
            GrantShape::Part(part) => {
                let text = self.details.shown.as_deref().unwrap_or("a part of a command");
                let times = if part.is_for_session() { "in this session" } else { "alone, once" };
                format!("`{text}` {times}")
            }
            GrantShape::SameQuestion { .. } => {
                "the same as a request approved for the session".to_owned()
            }
            GrantShape::SameProgram { repository, .. } => {
                format!("the program of a request approved for {repository}")
            }
        }
    }
}
