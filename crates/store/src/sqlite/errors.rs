//! Conversion of SQLite errors and numbers.

use rusqlite::{Error, ErrorCode};

use crate::error::{OpenError, StoreError};

impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        match error.sqlite_error_code() {
            // A constraint of the schema failed: only this job is rejected. An error without a code
            // means that a column has another type than this version writes.
            Some(ErrorCode::ConstraintViolation) | None => StoreError::Corrupt(error.to_string()),
            Some(ErrorCode::TooBig | ErrorCode::TypeMismatch) => {
                StoreError::Invalid(error.to_string())
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

/// An error about a stored value that no version of Countersign writes.
pub(super) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into())
}

/// A count as SQLite stores it.
pub(super) fn signed(count: u64) -> Result<i64, StoreError> {
    i64::try_from(count)
        .map_err(|_| StoreError::Invalid(format!("the number {count} is too large")))
}

/// A stored count.
pub(super) fn unsigned(stored: i64) -> Result<u64, StoreError> {
    u64::try_from(stored).map_err(|_| corrupt(format!("the count {stored} is negative")))
}
