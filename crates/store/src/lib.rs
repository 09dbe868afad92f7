//! Durable storage: the [`Store`] contract, its record types, and the SQLite backend.

pub mod backend;
pub mod contract;
pub mod error;
pub mod event;
pub mod feedback;
pub mod newest_entries;
pub mod people;
pub mod record;
pub mod reviews;
pub mod servers;
pub mod sqlite;
mod task_file;
mod task_push;
mod task_writes;
pub mod tasks;
mod waiters;

pub use backend::Backend;
pub use contract::Store;
pub use error::{OpenError, StoreError, StoreResult};
pub use event::StoreEvent;
pub use feedback::{CallFeedback, RegrettedCall};
pub use newest_entries::{
    ADOPTED_FACT, BY_REQUEST_FACT, FILE_DIGEST_FACT, MODE_FACT, NewestEntries, POLICY_FACT,
    PROJECTS_FACT, SETTINGS_FACT, UNADOPTED_FACT, UNATTENDED_FACT, fact_of,
};
pub use people::{
    CredentialRows, LinkedAccount, Passkey, PushSubscription, Role, StoredAgent, StoredLogin,
    StoredPerson,
};
pub use record::{
    AnnouncementKind, Applied, AttemptResult, ClockRebase, CrisisSession, CrisisTakeover,
    DeliveryAttempt, DeliveryStatus, EditRecord, IndexedEntry, LedgerSlice, NewRequest,
    OutboxEntry, ProofPath, Redemption, RequestQuery, RowComparison, RowDifference, SESSION_IDLE,
    SimilarCalls, StoredRequest, StoredRequestPage, StoredSessionMemory, SubmitResult, TreeHead,
    WriteContext,
};
pub use reviews::{NewReview, StoredReview};
pub use servers::{LabelledTool, ListedTool, ServerLabels, StoredServer};
pub use sqlite::{OfflineLedger, SqliteOptions, SqliteStore};
pub use task_file::{TaskFile, TaskFileError, WrittenChange};
pub use task_push::{PushConfigRow, PushResult};
pub use tasks::{TaskAnswer, TaskInsert, TaskLimit, TaskLimits, TaskPage, TaskQuery, TaskRow};
