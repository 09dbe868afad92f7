//! Removes secrets from texts before they are stored, displayed or logged: `⟨hidden: github token,
//! 40 characters⟩`.
//!
//! Rules in `rules/secrets.toml` describe the secrets. One pass, linear in the text. Only values
//! are removed: a command in place of a secret (`PASSWORD=$(curl … | sh)`) stays visible, so that
//! nothing dangerous can hide behind a name.

mod cards;
mod display;
mod joined;
mod known;
mod leaves;
mod marker;
mod names;
mod options;
mod reading;
mod redacted;
mod related;
mod scan;
mod search;
mod tables;
mod value;

#[cfg(any(test, feature = "samples"))]
pub mod samples;

#[cfg(test)]
mod canary;
#[cfg(test)]
mod tests;

pub use display::{DisplayText, before_marker, neutralize_markers, sanitize_marked};
pub use redacted::{Redacted, Redaction};
pub use related::{MarkedText, RelatedTexts};
pub use value::{RemovedSecrets, redact_related, redact_value};

/// The text without its secrets. Redacting twice changes nothing more.
pub fn redact_text(text: &str) -> Redacted<'_> {
    redacted::apply(text, search::hits(text))
}
