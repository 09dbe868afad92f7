//! Why a witness did not take a checkpoint.

/// Why a witness did not take a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// Writing to a file or folder failed.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// git failed, or did not finish in time.
    #[error("git {0}")]
    Git(String),
    /// The server did not accept the checkpoint.
    #[error("{0}")]
    Post(#[from] crate::posting::PostError),
    /// The task was cancelled.
    #[error("writing the checkpoint was cancelled")]
    Cancelled,
}
