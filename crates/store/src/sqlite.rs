//! The SQLite backend: one writer thread with group commit, and a few reader threads.

mod apply;
mod batch;
mod checkpointer;
mod columns;
mod contract;
mod credentials;
mod deferred;
mod entry;
mod errors;
mod gap;
mod grants;
mod job;
mod ledger;
mod offline;
mod open;
mod options;
mod outbox;
mod pending_entries;
mod people;
mod permits;
mod query;
mod readers;
mod recorded;
mod request_row;
mod requests;
mod schema;
mod shared;
mod store;
mod text_search;
mod unsynced_passes;
mod writer;

pub use offline::OfflineLedger;
pub use options::SqliteOptions;
pub use store::SqliteStore;
