//! The names of the secrets that a session showed to its agent.

use countersign_redact::redact_text;
use serde::{Deserialize, Serialize};

/// How many names of secrets are remembered. One is enough to ask.
const MAX_SECRETS: usize = 32;

/// The secrets that a session showed to its agent, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShownSecrets {
    names: Vec<String>,
    /// It is not known whether there were others.
    unknown: bool,
}

impl ShownSecrets {
    /// Nothing is known about them.
    pub fn unknown() -> ShownSecrets {
        ShownSecrets { names: Vec::new(), unknown: true }
    }

    /// Whether the agent may know a secret.
    pub fn is_any(&self) -> bool {
        self.unknown || !self.names.is_empty()
    }

    /// The name of the first one.
    pub fn first(&self) -> Option<&str> {
        self.names.first().map(String::as_str)
    }

    pub fn add(&mut self, name: &str) {
        if self.names.iter().any(|known| known == name) {
            return;
        }
        if self.names.len() < MAX_SECRETS {
            self.names.push(name.to_owned());
        } else {
            self.unknown = true;
        }
    }

    pub fn redact(&mut self) {
        for name in &mut self.names {
            *name = redact_text(name).text.into_owned();
        }
    }

    pub fn shrink(&mut self) {
        self.unknown |= self.names.len() > MAX_SECRETS;
        self.names.truncate(MAX_SECRETS);
    }
}
