//! Signals of a crisis, and the frames that change how a signal is read.

use serde::Serialize;

use countersign_types::span::Span;

/// The kind of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// A wish to be dead, thoughts of suicide.
    Ideation,
    /// No reason to live, a burden to others.
    Hopelessness,
    /// Hurting oneself without a wish to die.
    SelfHarm,
    /// Asks how.
    Method,
    /// Has the means at hand.
    Means,
    /// Says a final goodbye.
    Goodbye,
    /// Intends to, has a plan, or has begun.
    Plan,
    /// Another person is in danger.
    ThirdParty,
}

/// Something that changes how a signal is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// Inside quotation marks.
    Quotation,
    /// Inside code.
    Code,
    /// About a program, a game, a title, a figure of speech.
    NonHuman,
    /// Denied.
    Negation,
    /// Long ago and better now.
    Recovery,
    /// In a story.
    Fiction,
    /// Said while laughing.
    Laughter,
    /// Today, tonight, now: raises the level instead of lowering it.
    Timeframe,
}

/// One signal and why it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signal {
    /// Id of the rule.
    pub rule: &'static str,
    /// Its kind.
    pub kind: SignalKind,
    /// Where, in bytes of the original text.
    pub span: Span,
    /// Level after the modifiers; 0 if they lowered it to none.
    pub level: u8,
    /// What changed how it is read.
    pub modifiers: Vec<Frame>,
}
