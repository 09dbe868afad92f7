//! Calls without their secrets; `countersign_redact` finds the secrets in texts and values.

mod call;
#[cfg(test)]
mod canary;

pub use call::{RedactedCall, redact_call};
pub use countersign_redact::{Hidden, Redacted, redact_text, redact_value};

pub(crate) use call::shown_command;
pub(crate) use countersign_redact::{before_marker, foreign, show_marked};
