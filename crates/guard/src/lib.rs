//! Content-safety models: what they are asked, how their replies are read, and the connection.
//!
//! A guard says whether a text is safe. Its reply becomes [`GuardVerdict::Safe`] only if it has
//! exactly the form of a safe reply of its family; everything else is unsafe or unavailable. Each
//! family has one file with its prompt and its parser.

mod chunks;
mod defuse;
mod family;
mod health;
mod llama_guard;
mod ollama;
mod openai_moderation;
mod probes;
mod qwen3_guard;
mod service;
mod settings;
mod verdict;

pub use chunks::MAX_CHUNK;
pub use family::GuardFamily;
pub use service::GuardService;
pub use settings::GuardSettings;
pub use verdict::{GuardCategory, GuardFailure, GuardRole, GuardVerdict};
