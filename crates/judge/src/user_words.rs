//! The user's own words about a task, each with the way it reached us.

use countersign_json::write_string;
use countersign_redact::redact_text;
use countersign_text::sanitize::sanitize_within;

/// The most texts in a prompt.
pub const MAX_WORDS: usize = 4;
/// The longest text in a prompt, in bytes.
const MAX_TEXT: usize = 400;

/// How a text reached us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordSource {
    /// A person wrote it to this daemon after signing in.
    Person(String),
    /// The agent's hook passed it on. An agent could have made it up.
    Gateway,
}

/// A text that the user wrote. The agent's explanations and the output of tools are never among
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserWords {
    /// How it reached us.
    pub source: WordSource,
    /// The text without secrets, cut.
    text: String,
}

impl UserWords {
    /// A text of the user; `None` if nothing of it can be shown.
    pub fn new(source: WordSource, text: &str) -> Option<UserWords> {
        let text = sanitize_within(&redact_text(text).text, MAX_TEXT).text.trim().to_owned();
        (!text.is_empty()).then_some(UserWords { source, text })
    }

    /// Appends it as JSON.
    pub(crate) fn write(&self, out: &mut String) {
        out.push_str("{\"from\":");
        match &self.source {
            WordSource::Person(name) => write_string(&format!("signed-in person {name}"), out),
            WordSource::Gateway => write_string("the agent's hook, not verified", out),
        }
        out.push_str(",\"text\":");
        write_string(&self.text, out);
        out.push('}');
    }
}
