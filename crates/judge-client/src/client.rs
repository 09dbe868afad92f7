//! The client: one question, one deadline, a bounded number of questions at once.

use std::fmt;
use std::time::Duration;

use countersign_judge::Prompt;
use countersign_net::{Client, HttpRequest, HttpUrl, NetError};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::error::ModelError;
use crate::response::ModelReply;
use crate::{anthropic, openai};

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

/// A client of one model.
#[derive(Debug)]
pub struct JudgeClient {
    client: Client,
    settings: ModelSettings,
    key: Option<ApiKey>,
    slots: Semaphore,
}

impl JudgeClient {
    /// A client with these settings.
    pub fn new(settings: ModelSettings, key: Option<ApiKey>) -> JudgeClient {
        let (client, slots) =
            (Client::new(settings.allow_private), Semaphore::new(settings.concurrency.max(1)));
        JudgeClient { client, settings, key, slots }
    }

    /// The settings.
    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// Asks the model. Waiting for a free slot counts as time, too.
    pub async fn ask(&self, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        let asking = async {
            let _slot = self.slots.acquire().await.map_err(|_| ModelError::Deadline)?;
            self.exchange(prompt).await
        };
        let answered = tokio::time::timeout(self.settings.deadline, asking).await;
        answered.unwrap_or(Err(ModelError::Deadline))
    }

    async fn exchange(&self, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        let settings = &self.settings;
        let (path, headers, body) = match settings.api {
            ModelApi::OpenAi => openai::request(settings, self.key.as_ref(), prompt),
            ModelApi::Anthropic => anthropic::request(settings, self.key.as_ref(), prompt),
        };
        let url = settings.endpoint.join(path).map_err(ModelError::Request)?;
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request =
            HttpRequest { method: "POST", url: &url, headers: &headers, body: body.into_bytes() };
        let reply = self.client.exchange(request, settings.deadline).await;
        let reply = reply.map_err(|error| match error {
            NetError::TimedOut(_) => ModelError::Deadline,
            other => ModelError::Network(other),
        })?;
        if reply.status != 200 {
            return Err(ModelError::Status(reply.status));
        }
        match settings.api {
            ModelApi::OpenAi => openai::read(&reply.body),
            ModelApi::Anthropic => anthropic::read(&reply.body),
        }
    }
}
