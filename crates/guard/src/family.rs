//! The families of guard models: where each is asked and how its replies are read.

use crate::verdict::{GuardFailure, GuardRole, GuardVerdict};
use crate::{llama_guard, ollama, openai_moderation, qwen3_guard};

/// The longest reply of a local model, in tokens: every category fits.
const LONGEST_REPLY: u32 = 96;

/// A family of guard models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GuardFamily {
    /// Llama Guard 3, through Ollama.
    LlamaGuard,
    /// `Qwen3Guard-Gen`, through Ollama.
    Qwen3Guard,
    /// The moderation endpoint of `OpenAI`, or a server with the same shape.
    OpenaiModeration,
}

impl GuardFamily {
    /// All families.
    pub const ALL: [GuardFamily; 3] =
        [GuardFamily::LlamaGuard, GuardFamily::Qwen3Guard, GuardFamily::OpenaiModeration];

    /// The name in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            GuardFamily::LlamaGuard => "llama_guard",
            GuardFamily::Qwen3Guard => "qwen3_guard",
            GuardFamily::OpenaiModeration => "openai_moderation",
        }
    }

    /// The family with this name.
    pub fn from_name(name: &str) -> Option<GuardFamily> {
        GuardFamily::ALL.into_iter().find(|family| family.name() == name)
    }

    /// The path and the body that ask about one part of a text.
    pub fn request(self, model: &str, role: GuardRole, text: &str) -> (&'static str, Vec<u8>) {
        let local = |prompt: &str| (ollama::PATH, ollama::body(model, prompt, LONGEST_REPLY));
        match self {
            GuardFamily::LlamaGuard => local(&llama_guard::prompt(role, text)),
            GuardFamily::Qwen3Guard => local(&qwen3_guard::prompt(role, text)),
            GuardFamily::OpenaiModeration => {
                (openai_moderation::PATH, openai_moderation::body(model, text))
            }
        }
    }

    /// Reads the server's reply.
    pub fn parse(self, model: &str, role: GuardRole, status: u16, body: &[u8]) -> GuardVerdict {
        if status != 200 {
            return GuardVerdict::Unavailable(GuardFailure::ServerError);
        }
        let generated = || ollama::generated(model, body);
        match self {
            GuardFamily::LlamaGuard => {
                generated().map_or_else(GuardVerdict::Unavailable, |text| llama_guard::parse(&text))
            }
            GuardFamily::Qwen3Guard => generated()
                .map_or_else(GuardVerdict::Unavailable, |text| qwen3_guard::parse(role, &text)),
            GuardFamily::OpenaiModeration => openai_moderation::parse(body),
        }
    }
}
