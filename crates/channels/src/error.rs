//! Why a message was not sent.

use std::pin::Pin;
use std::time::Duration;

/// An operation of a channel; dropping it cancels it.
pub type ChannelFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ChannelError>> + Send + 'a>>;

/// Why a message was not sent. The text may be logged and shown: it has no secret and no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ChannelError {
    /// What failed, why, and what to do about it.
    pub problem: String,
    /// How long the server asked us to wait before the next attempt.
    pub retry_after: Option<Duration>,
    /// Whether another attempt would fail in the same way.
    pub permanent: bool,
}

impl ChannelError {
    /// An error that may go away by itself.
    pub fn again(problem: impl Into<String>) -> ChannelError {
        ChannelError { problem: problem.into(), retry_after: None, permanent: false }
    }

    /// An error that remains until an operator changes something.
    pub fn permanent(problem: impl Into<String>) -> ChannelError {
        ChannelError { problem: problem.into(), retry_after: None, permanent: true }
    }
}
