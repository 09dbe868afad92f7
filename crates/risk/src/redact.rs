//! Calls without their secrets; `countersign_redact` finds the secrets in texts and values.

mod call;
#[cfg(test)]
mod canary;

pub use call::{RedactedCall, redact_call};

pub(crate) use call::shown_command;
