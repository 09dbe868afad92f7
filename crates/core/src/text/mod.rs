//! Reading text the way a person sees it: folded words with places, and what is hidden in it.

pub mod fold;
mod hidden;
#[cfg(test)]
mod tests;
pub mod words;

pub use hidden::{Hidden, HiddenKind, hidden};
