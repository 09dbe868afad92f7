//! Which model is asked, and the key with which.

use std::fmt;
use std::time::Duration;

use countersign_net::HttpUrl;
use zeroize::Zeroizing;

/// The API that a model server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelApi {
    /// Chat completions as `OpenAI` defined them; Ollama, llama.cpp and vLLM speak it too.
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
}

impl ModelApi {
    /// The name in the configuration.
    pub const fn label(self) -> &'static str {
        match self {
            ModelApi::OpenAi => "openai",
            ModelApi::Anthropic => "anthropic",
        }
    }

    /// Reads a name.
    pub fn parse(text: &str) -> Option<ModelApi> {
        [ModelApi::OpenAi, ModelApi::Anthropic].into_iter().find(|api| api.label() == text)
    }
}

/// Which model is asked, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The API.
    pub api: ModelApi,
    /// The base URL: `http://127.0.0.1:11434/v1` for Ollama.
    pub endpoint: HttpUrl,
    /// The model's name.
    pub model: String,
    /// The time for one question, waiting included.
    pub deadline: Duration,
    /// The most tokens of an answer.
    pub max_tokens: u32,
    /// Whether the server is asked to enforce the form of the answer.
    pub json_schema: bool,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// Questions at once.
    pub concurrency: usize,
}

/// The key of an API. It is never logged or displayed.
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

impl ApiKey {
    /// A key: printable characters without spaces.
    pub fn new(text: &str) -> Option<ApiKey> {
        let word = text.trim();
        let plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
        plain.then(|| ApiKey(Zeroizing::new(word.to_owned())))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey")
    }
}
