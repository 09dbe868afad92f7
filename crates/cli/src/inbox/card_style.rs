//! How a card is drawn.

use countersign_client::Time;

use super::style::Palette;

/// How a card is drawn.
#[derive(Debug, Clone, Copy)]
pub struct CardStyle {
    /// Colours.
    pub look: Palette,
    /// How many columns there are.
    pub room: usize,
    /// Whether it is opened: nothing is folded then.
    pub open: bool,
    /// How many lines of the call are shown before the rest is folded.
    pub fold: usize,
    /// The time, for relative times.
    pub now: Time,
}
