//! The review of a call that ran before a person looked at it: open, then ended exactly once.

use serde::Serialize;

/// Where a review stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    /// A person may keep the changes or have them rolled back.
    Open,
    /// A person rejected the changes; they are being rolled back.
    RollingBack,
    /// A person kept the changes.
    Kept,
    /// A person rejected the changes, and the files are as before.
    RolledBack,
    /// The call changed nothing.
    Unchanged,
    /// No person looked in time. The changes stay; nobody approved them.
    NotReviewed,
}

impl ReviewState {
    /// Every state.
    pub const ALL: [ReviewState; 6] = [
        ReviewState::Open,
        ReviewState::RollingBack,
        ReviewState::Kept,
        ReviewState::RolledBack,
        ReviewState::Unchanged,
        ReviewState::NotReviewed,
    ];

    /// The stable word in records.
    pub const fn label(self) -> &'static str {
        match self {
            ReviewState::Open => "open",
            ReviewState::RollingBack => "rolling_back",
            ReviewState::Kept => "kept",
            ReviewState::RolledBack => "rolled_back",
            ReviewState::Unchanged => "unchanged",
            ReviewState::NotReviewed => "not_reviewed",
        }
    }

    /// The state with this word.
    pub fn parse(word: &str) -> Option<ReviewState> {
        ReviewState::ALL.into_iter().find(|state| state.label() == word)
    }

    /// Whether nothing changes it any more.
    pub const fn has_ended(self) -> bool {
        !matches!(self, ReviewState::Open | ReviewState::RollingBack)
    }

    /// Whether a person rejected the changes.
    pub const fn is_rejected(self) -> bool {
        matches!(self, ReviewState::RollingBack | ReviewState::RolledBack)
    }
}

/// What happens to a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewEvent {
    /// The hook reported what the call left.
    Result {
        /// The digest of the files afterwards.
        after: [u8; 32],
        /// Whether a file differs.
        changed: bool,
    },
    /// A person keeps the changes.
    Keep {
        /// Who.
        person: String,
    },
    /// A person rejects the changes.
    Reject {
        /// Who.
        person: String,
        /// Whether files that changed again after the call are replaced too.
        force: bool,
    },
    /// The files are as before.
    RolledBack {
        /// How many were restored.
        files: u32,
    },
    /// The files could not be restored.
    RollBackFailed {
        /// Why.
        why: String,
    },
    /// The time to look is over.
    WindowEnded,
}

/// The state after an event; none if the event does not fit the state.
pub const fn next_state(state: ReviewState, event: &ReviewEvent) -> Option<ReviewState> {
    match (state, event) {
        (ReviewState::Open, ReviewEvent::Result { changed: false, .. }) => {
            Some(ReviewState::Unchanged)
        }
        (ReviewState::Open, ReviewEvent::Result { .. })
        | (ReviewState::RollingBack, ReviewEvent::RollBackFailed { .. }) => Some(ReviewState::Open),
        (ReviewState::Open, ReviewEvent::Keep { .. }) => Some(ReviewState::Kept),
        (ReviewState::Open, ReviewEvent::Reject { .. }) => Some(ReviewState::RollingBack),
        (ReviewState::Open, ReviewEvent::WindowEnded) => Some(ReviewState::NotReviewed),
        (ReviewState::RollingBack, ReviewEvent::RolledBack { .. }) => Some(ReviewState::RolledBack),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events() -> Vec<ReviewEvent> {
        let person = || "ana".to_owned();
        vec![
            ReviewEvent::Result { after: [1; 32], changed: true },
            ReviewEvent::Result { after: [1; 32], changed: false },
            ReviewEvent::Keep { person: person() },
            ReviewEvent::Reject { person: person(), force: false },
            ReviewEvent::RolledBack { files: 1 },
            ReviewEvent::RollBackFailed { why: "disk".to_owned() },
            ReviewEvent::WindowEnded,
        ]
    }

    #[test]
    fn a_review_ends_once_and_only_a_person_keeps_or_rejects() {
        for state in ReviewState::ALL {
            assert_eq!(ReviewState::parse(state.label()), Some(state));
            for event in events() {
                let Some(next) = next_state(state, &event) else { continue };
                assert!(!state.has_ended(), "{state:?} ended, then {event:?}");
                let by_person =
                    matches!(event, ReviewEvent::Keep { .. } | ReviewEvent::Reject { .. });
                assert_eq!(next == ReviewState::Kept, matches!(event, ReviewEvent::Keep { .. }));
                assert!(by_person || !next.is_rejected() || state.is_rejected());
            }
        }
        assert_eq!(ReviewState::parse("approved"), None);
    }
}
