//! Errors of the store. Each of them ends in a denial.

use countersign_types::id::Id;
use countersign_workflow::request::TransitionError;

/// The result of every store operation.
pub type StoreResult<T> = Result<T, StoreError>;

/// Why an operation failed. Nothing of a failed operation is stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, a file is gone, or the database does not respond.
    #[error("the store cannot write: {0}")]
    Unavailable(String),
    /// The write queue is full.
    #[error("the store is overloaded: too many writes are pending; retry in a moment")]
    Overloaded,
    /// No such request, person, agent or grant.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// An object with this id or key already exists.
    #[error("this {0} already exists")]
    Exists(&'static str),
    /// The state machine refused the event.
    #[error("{0}")]
    Refused(#[from] TransitionError),
    /// The same idempotency key came with another call.
    #[error("this idempotency key was already used for another call; use a new key")]
    KeyReused,
    /// The grant that should cover the call has expired, was revoked or has no uses left.
    #[error("the grant has expired, was revoked or has no uses left")]
    GrantInactive,
    /// The grant that should cover the call has covered as many calls in this hour as it may.
    #[error("the grant has covered as many calls in this hour as it may")]
    GrantRateExceeded,
    /// The budget of the grant that should cover the call is too small for it.
    #[error("the budget of the grant is too small for this call")]
    GrantBudgetExceeded,
    /// The data contradicts itself or does not fit into a ledger entry.
    #[error("this cannot be stored: {0}")]
    Invalid(String),
    /// A row holds a value that no version of Countersign writes.
    #[error("the store contains invalid data: {0}")]
    Corrupt(String),
    /// The rows of a request have an approval, a vote or an edit that the ledger does not have.
    #[error(
        "the store has an approval, a vote or an edit of request {0} that the ledger does not \
         have; it does not count (countersign ledger verify)"
    )]
    Unrecorded(Id),
    /// Approvals are stopped, because this is not the store that was signed last.
    #[error("{0}")]
    Halted(String),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Why a store cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Another process holds the lock file.
    #[error("another daemon has this store open: {0}")]
    InUse(String),
    /// A later version wrote it.
    #[error(
        "this store was written by a newer Countersign (schema {found}; this version knows \
         {known}): install that version, or restore a copy made before it ran"
    )]
    Newer {
        /// The schema version of the file.
        found: i64,
        /// The newest schema version that this build knows.
        known: i64,
    },
    /// The file has another format or belongs to another program.
    #[error("this file is not a Countersign store: {0}")]
    NotOurs(String),
    /// Other users could read or change it.
    #[error("other users can access {0}: run `chmod 700 {0}`, or choose another folder")]
    Exposed(String),
    /// SQLite does not accept a setting that makes commits durable.
    #[error("this disk or database cannot guarantee durable writes: {0}")]
    NotDurable(String),
    /// The contents are inconsistent.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Any other error of the operating system or of SQLite.
    #[error("the store cannot be opened: {0}")]
    Failed(String),
}
