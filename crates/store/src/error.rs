//! Why nothing was kept, or a store cannot be opened. Each of these ends in a denial.

use countersign_workflow::request::Refusal;

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
    /// A request or grant of this id is there already.
    #[error("there is such a {0} already")]
    Exists(&'static str),
    /// The state machine refused the event.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The same idempotency key came with another call.
    #[error("this idempotency key was used for another call")]
    KeyReused,
    /// The grant that should cover the call is over.
    #[error("the grant is over")]
    GrantOver,
    /// What was to be kept contradicts itself or cannot stand in the ledger.
    #[error("this cannot be kept: {0}")]
    Unfit(String),
    /// A row says something that no version of us wrote.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
    /// It was closed.
    #[error("the store is closed")]
    Closed,
}

/// Why a store cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Somebody has it open.
    #[error("another daemon has this store open: {0}")]
    InUse(String),
    /// A later version wrote it.
    #[error(
        "this store was written by a newer Countersign (form {found}; this one knows {known}): \
         install that version, or restore a copy made before it ran"
    )]
    Newer {
        /// The form it has.
        found: i64,
        /// The newest form known here.
        known: i64,
    },
    /// The file is something else.
    #[error("this file is not a Countersign store: {0}")]
    NotOurs(String),
    /// Others could read or change it.
    #[error("other users can reach {0}: run `chmod 700 {0}`, or choose a folder of its own")]
    Exposed(String),
    /// It would not keep what it answers.
    #[error("this disk or database cannot promise to keep what is written: {0}")]
    NotDurable(String),
    /// Its contents contradict themselves.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Anything else, as the system says it.
    #[error("the store cannot be opened: {0}")]
    Failed(String),
}
