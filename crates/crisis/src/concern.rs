//! How much concern a text gives, and the weighted evidence for it.

use countersign_types::span::Span;
use serde::Serialize;

/// How much concern a text gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    /// None.
    None,
    /// A short, kind check-in with the helpline; nothing is held back.
    Possible,
    /// The whole card, and the session is in a crisis until a person lifts it.
    Likely,
}

/// What the weighted evidence says about a text, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Thousandths of a logit, rules included; above zero means rather a crisis than not.
    pub score: i32,
    /// The part of the text with the most evidence.
    pub span: Option<Span>,
    /// Its words that weigh most, heaviest first.
    pub words: Vec<Span>,
}
