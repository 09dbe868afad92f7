//! The client: one question, one deadline, a bounded number of questions at once.

use countersign_judge::Prompt;
use countersign_net::{Client, HttpRequest, NetError};
use tokio::sync::Semaphore;

use crate::error::ModelError;
use crate::response::ModelReply;
use crate::settings::{ApiKey, ModelApi, ModelSettings};
use crate::{anthropic, openai};

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
