//! What an operator sets for a guard.

use std::fmt;
use std::time::Duration;

use countersign_net::HttpUrl;

use crate::family::GuardFamily;

/// Which model is asked, where, and within which limits.
#[derive(Clone, PartialEq, Eq)]
pub struct GuardSettings {
    /// The family, which decides prompt and parser.
    pub family: GuardFamily,
    /// The base URL of the server.
    pub url: HttpUrl,
    /// The name of the model.
    pub model: String,
    /// The secret of the server, if it needs one.
    pub api_key: Option<String>,
    /// Whether the server may be on this machine or in a private network.
    pub allow_private: bool,
    /// How long all parts of one text may take together.
    pub timeout: Duration,
    /// How long the first test may take: the model may have to be loaded.
    pub load_timeout: Duration,
    /// How many texts are checked at once.
    pub concurrent: usize,
    /// What is sent instead of an unsafe text of the agent.
    pub replacement: String,
}

/// Without the secret.
impl fmt::Debug for GuardSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardSettings")
            .field("family", &self.family)
            .field("url", &self.url)
            .field("model", &self.model)
            .field("has_api_key", &self.api_key.is_some())
            .field("allow_private", &self.allow_private)
            .field("timeout", &self.timeout)
            .field("load_timeout", &self.load_timeout)
            .field("concurrent", &self.concurrent)
            .field("replacement", &self.replacement)
            .finish()
    }
}

impl GuardSettings {
    /// The default text instead of an unsafe one.
    pub const REPLACEMENT: &str = "I apologize, but I can't provide that response. Is there another way in which I can help you?";
}
