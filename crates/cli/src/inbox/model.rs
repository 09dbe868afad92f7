//! The parts of the inbox: focus, prompts, the selected card, notes.

use countersign_client::{DecisionScope, RequestRecord};

use crate::engine::Card;
use crate::gate::confirmation::Confirmation;

/// The minimum time that a note stays.
const READ: u64 = 1000;

/// Where keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// To the list.
    List,
    /// To the card.
    Card,
}

/// The open prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ActivePrompt {
    /// Nothing.
    #[default]
    Nothing,
    /// The list of keys.
    Help,
    /// The search.
    Filter,
    /// The approval.
    Approve(ApprovalPrompt),
    /// The denial.
    Deny(ApprovalPrompt),
    /// The denial of all.
    DenyAll {
        /// Each by its id and digest when the prompt opened.
        list: Vec<(String, String)>,
        /// The input.
        typed: String,
    },
}

/// An approval prompt, bound to the call that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPrompt {
    /// The request.
    pub id: String,
    /// The digest of the call.
    pub digest: String,
    /// Its two words.
    pub phrase: String,
    /// The required confirmation.
    pub proof: Confirmation,
    /// Bytes of the call that are not stored.
    pub unseen: u64,
    /// For how long it is approved.
    pub scope: DecisionScope,
    /// The input.
    pub typed: String,
}

/// The card of the selected request.
#[derive(Debug)]
pub struct SelectedCard {
    /// The request.
    pub id: String,
    /// The card, as far as it is loaded.
    pub page: CardPage,
    /// The whole call was on the screen.
    pub whole: bool,
}

/// A card that is being loaded.
#[derive(Debug)]
pub enum CardPage {
    /// Requested.
    Coming,
    /// Failed; why.
    Missing(String),
    /// The request, and its card if it is valid.
    There(Box<RequestRecord>, Option<Box<Card>>),
}

/// A message to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusNote {
    /// The text.
    pub text: String,
    /// Whether it is an error.
    pub wrong: bool,
    pub(super) since: u64,
}

impl StatusNote {
    /// Whether the minimum time has passed: the next key removes it.
    pub(super) fn was_read(&self, now: u64) -> bool {
        now.saturating_sub(self.since) >= READ
    }
}
