//! Asks a language model about a call, within a deadline and a limit of requests at once.
//!
//! One file for each API: `openai` (Ollama, llama.cpp, vLLM and others speak it too) and
//! `anthropic`. A response that is incomplete, cut, or of another form is an error, and an error is
//! never a verdict.

mod anthropic;
mod client;
mod error;
mod openai;
mod response;
mod settings;

#[cfg(test)]
mod tests;

pub use client::JudgeClient;
pub use error::ModelError;
pub use response::ModelReply;
pub use settings::{ApiKey, ModelApi, ModelSettings};
