//! Finds and reads the session logs of agents. Only reads, within bounds.

mod find;
mod plain;
mod read;

pub use find::{FoundLogs, LogFile, find_logs};
pub use read::{LogCalls, LogReader};
