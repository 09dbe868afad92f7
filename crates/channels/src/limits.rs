//! The limits of a channel.

use countersign_types::tier::Tier;

/// Limits that every channel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelLimits {
    /// The highest tier that it may carry.
    pub max_tier: Tier,
    /// The maximum number of messages per minute.
    pub per_minute: u32,
    /// The highest tier that can be approved through it.
    pub approves: Tier,
    /// Whether its messages include the call. Without that it approves nothing.
    pub details: bool,
    /// Whether its messages about a crisis include the user's words and the text that waits. A
    /// message that cannot be changed afterwards includes neither.
    pub crisis_words: bool,
    /// Whether it interrupts a person away from the desk; then it waits a little while they are
    /// active in the inbox.
    pub interrupts: bool,
}
