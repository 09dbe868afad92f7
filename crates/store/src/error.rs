//! Why nothing was kept. Each of these ends in a denial.

use countersign_core::request::Refusal;

/// Why nothing was kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, a file is gone, the database does not answer.
    #[error("the store cannot write: {0}")]
    Unavailable(String),
    /// More is waiting to be written than may wait.
    #[error("the store is overloaded: too much is waiting to be written")]
    Overloaded,
    /// No such request, person, agent or grant.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The state machine refused the event.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The same idempotency key came with another call.
    #[error("this idempotency key was used for another call")]
    KeyReused,
    /// The grant that should cover the call is over.
    #[error("the grant is over")]
    GrantOver,
    /// A row says something that no version of us wrote.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
    /// It was closed.
    #[error("the store is closed")]
    Closed,
}
