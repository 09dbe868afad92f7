//! Notifications that the store publishes after a commit.

use countersign_types::id::Id;
use countersign_workflow::request::{EscalationLevel, State};

/// A change, published after its commit. It is only a hint: read the row for the current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreEvent {
    /// A request was created and waits for people.
    Asked(Id),
    /// A person voted, and more votes are needed.
    Voted(Id),
    /// The model judge gave its opinion on a request that waits for people.
    Opinion(Id),
    /// A request was escalated to this level.
    Escalated(Id, EscalationLevel),
    /// A message about a request was reported as undelivered after it counted as delivered.
    Undelivered(Id),
    /// A request ended in this state.
    Ended(Id, State),
    /// Grants, people, agents or crisis sessions changed.
    Settings,
}
