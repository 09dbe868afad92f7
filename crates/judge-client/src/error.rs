//! Why a model gave no answer. The texts contain no key and nothing of the prompt.

use countersign_net::NetError;

/// Why a model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The time was over, in the queue or on the way.
    #[error("no answer within the deadline")]
    Deadline,
    /// The network failed.
    #[error("{0}")]
    Network(NetError),
    /// The server answered with an error.
    #[error("the model server answered with HTTP status {0}")]
    Status(u16),
    /// The response is not what the API documents.
    #[error("the response is not of the documented form: {0}")]
    Form(&'static str),
    /// The model was cut off, refused, or called a tool.
    #[error("the model did not finish its answer: {0}")]
    Unfinished(String),
    /// The request could not be written.
    #[error("the request could not be written: {0}")]
    Request(&'static str),
}

impl ModelError {
    /// The stable word in metrics and records.
    pub const fn label(&self) -> &'static str {
        match self {
            ModelError::Deadline => "deadline",
            ModelError::Network(_) => "network",
            ModelError::Status(_) => "status",
            ModelError::Form(_) => "form",
            ModelError::Unfinished(_) => "unfinished",
            ModelError::Request(_) => "request",
        }
    }
}
