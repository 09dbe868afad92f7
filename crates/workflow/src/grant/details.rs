//! What a grant has besides its shape: its text, its rate limit and its last use.

use serde::Serialize;

use countersign_types::time::Timestamp;

/// Text, rate limit and last use of a grant. A member without a value is not part of the grant's
/// recorded content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GrantDetails {
    /// The call of an exact grant, redacted, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// How many calls it covers in an hour, if limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<u32>,
    /// When it covered a call last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Timestamp>,
}
