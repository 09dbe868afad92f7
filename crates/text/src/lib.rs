//! Text as a person sees it: sanitized for display, normalized for comparison, hidden parts found,
//! encodings undone.

pub mod decode;
pub mod file_url;
pub mod fold;
pub mod glob;
mod hidden;
pub mod humanize;
pub mod sanitize;
#[cfg(test)]
mod tests;
pub mod words;

pub use hidden::{HiddenKind, HiddenText, hidden};
