//! The result of screening a text.

use serde::Serialize;

use crate::card::CrisisCard;
use crate::concern::{Concern, Evidence};
use crate::signal::{Signal, SignalKind};

/// What a text indicates about the person who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the members of the JSON record")]
pub struct Screening {
    /// Whether to show the card and enter crisis mode: the concern is `likely`.
    pub crisis: bool,
    /// Rules and weighted evidence together.
    pub concern: Concern,
    /// Whether a rule matched that no frame lowers.
    pub by_rules: bool,
    /// Evidence on the C-SSRS scale, 0 to 6. A lowered signal can leave 1 without a crisis.
    pub level: u8,
    /// Imminent danger: an attempt under way, or intent with a time.
    pub imminent: bool,
    /// The most severe kind.
    pub kind: Option<SignalKind>,
    /// Every signal, most severe first; a repeated signal is listed once or a few times.
    pub signals: Vec<Signal>,
    /// The most likely language.
    pub lang: &'static str,
    /// What the weighted evidence says.
    pub evidence: Evidence,
    /// The person may be under 18, by what they wrote. Looked for only if there is a concern.
    pub possible_minor: bool,
    /// The answer: the whole card when it is a crisis, a short check-in when it is possible.
    pub card: Option<CrisisCard>,
}
