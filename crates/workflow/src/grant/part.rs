//! A part of a compound command that a person approved, where the command as a whole was not.

use countersign_json::canonical::Digest;
use countersign_risk::segments::{PartPlace, part_key};
use countersign_risk::session_answer::PartQuestion;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Millis;
use serde::{Deserialize, Serialize};

use super::{Grant, GrantQuery};

/// How long a part that was approved once can be proposed alone.
pub const PART_LASTS: Millis = Millis::from_seconds(60 * 60);

/// Which calls an approved part covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartShape {
    /// The request of the whole command.
    pub request: String,
    /// Which part, from 1.
    pub number: u8,
    /// The key of the part standing alone.
    pub key: Digest,
    /// The label of its tier.
    pub tier: String,
    /// What an approval for the rest of the session covers; empty if the part was approved once.
    pub keys: Vec<Digest>,
}

impl PartShape {
    /// A part that is approved once.
    pub fn once(request: Id, number: u8, part: &PartQuestion) -> PartShape {
        let (key, tier) = (part.key, part.tier.clone());
        PartShape { request: request.to_string(), number, key, tier, keys: Vec::new() }
    }

    /// The same for the rest of the session.
    #[must_use]
    pub fn for_session(self, part: &PartQuestion) -> PartShape {
        PartShape { keys: part.answers.clone(), ..self }
    }

    /// Whether it counts for the rest of the session.
    pub fn is_for_session(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Its tier; CRITICAL if it cannot be read.
    pub fn tier(&self) -> Tier {
        Tier::parse(&self.tier).unwrap_or(Tier::Critical)
    }

    /// Whether a call is the part, standing alone.
    pub(super) fn covers(&self, asked: &GrantQuery<'_>) -> bool {
        !self.is_for_session() && own_key(asked) == Some(self.key)
    }

    /// Whether a denial of a request with these keys contradicts the approval.
    pub fn is_denied_by(&self, keys: &[Digest]) -> bool {
        keys.contains(&self.key) || self.keys.iter().any(|key| keys.contains(key))
    }
}

/// The key of a call as a part of its own.
pub(super) fn own_key(asked: &GrantQuery<'_>) -> Option<Digest> {
    let place = PartPlace { cwd: asked.cwd, environment: asked.environment };
    part_key(asked.arguments, place, asked.assessment)
}

impl Grant {
    /// Whether it may cover a CRITICAL call: only a part that a person approved, once.
    pub(super) fn may_cover_critical(&self) -> bool {
        let super::GrantShape::Part(part) = &self.shape else { return false };
        !part.is_for_session() && self.uses_left.is_some() && part.tier() == Tier::Critical
    }
}
