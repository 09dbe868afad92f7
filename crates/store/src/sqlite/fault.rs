//! What SQLite says, in the store's words.

use rusqlite::{Error, ErrorCode};

use crate::error::{OpenError, StoreError};

impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        match error.sqlite_error_code() {
            // The schema refused: somebody tried what must not be. Only that job is lost.
            // Without a code it is a row that says what we never wrote.
            Some(ErrorCode::ConstraintViolation) | None => StoreError::Corrupt(error.to_string()),
            Some(ErrorCode::TooBig | ErrorCode::TypeMismatch) => {
                StoreError::Unfit(error.to_string())
            }
            Some(_) => StoreError::Unavailable(error.to_string()),
        }
    }
}

impl From<Error> for OpenError {
    fn from(error: Error) -> OpenError {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => OpenError::NotOurs(error.to_string()),
            Some(ErrorCode::DatabaseCorrupt) => OpenError::Damaged(error.to_string()),
            _ => OpenError::Failed(error.to_string()),
        }
    }
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> OpenError {
        match error {
            StoreError::Corrupt(what) => OpenError::Damaged(what),
            other => OpenError::Failed(other.to_string()),
        }
    }
}

/// A number that no version of us would have written.
pub(super) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into())
}

/// A count as SQLite keeps it.
pub(super) fn signed(count: u64) -> Result<i64, StoreError> {
    i64::try_from(count).map_err(|_| StoreError::Unfit(format!("{count} is too large a number")))
}

/// A count as it was kept.
pub(super) fn unsigned(kept: i64) -> Result<u64, StoreError> {
    u64::try_from(kept).map_err(|_| corrupt(format!("{kept} where a count should be")))
}
