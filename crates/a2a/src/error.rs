//! Errors of the protocol, with their numbers in JSON-RPC and their status in HTTP.

use serde_json::{Value, json};

/// Why a method failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum A2aError {
    /// The body is not JSON.
    #[error("the body is not valid JSON: {0}")]
    Parse(String),
    /// The body is not a JSON-RPC request.
    #[error("{0}")]
    InvalidRequest(String),
    /// No such method.
    #[error("unknown method: {0}")]
    UnknownMethod(String),
    /// The parameters are wrong.
    #[error("{0}")]
    InvalidParams(String),
    /// Nothing with this id belongs to the caller.
    #[error("task not found: {0}")]
    TaskNotFound(String),
    /// The task has ended.
    #[error("the task has ended and cannot be canceled")]
    NotCancelable,
    /// The operation is not supported.
    #[error("{0}")]
    Unsupported(String),
    /// A part of the message has a kind that is not accepted.
    #[error("{0}")]
    ContentType(String),
    /// The client speaks another version.
    #[error("version {0} of the protocol is not supported; use 1.0 or 0.3")]
    Version(String),
    /// The peer sends too much.
    #[error("{0}")]
    TooMany(String),
    /// The peer may not ask this.
    #[error("{0}")]
    NotAllowed(String),
    /// The node cannot store or ask now.
    #[error("{0}")]
    Unavailable(String),
}

impl A2aError {
    /// The error for an id that another message has.
    pub(crate) fn reused(message: &str) -> A2aError {
        A2aError::InvalidParams(format!(
            "messageId {message} was used before for another message; send this one with a new id"
        ))
    }

    /// The number in JSON-RPC, the word of the reason, and the status in HTTP.
    const fn codes(&self) -> (i32, &'static str, u16) {
        match self {
            A2aError::Parse(_) => (-32700, "PARSE_ERROR", 400),
            A2aError::InvalidRequest(_) => (-32600, "INVALID_REQUEST", 400),
            A2aError::UnknownMethod(_) => (-32601, "METHOD_NOT_FOUND", 404),
            A2aError::InvalidParams(_) => (-32602, "INVALID_PARAMS", 400),
            A2aError::TaskNotFound(_) => (-32001, "TASK_NOT_FOUND", 404),
            A2aError::NotCancelable => (-32002, "TASK_NOT_CANCELABLE", 409),
            A2aError::Unsupported(_) => (-32004, "UNSUPPORTED_OPERATION", 400),
            A2aError::ContentType(_) => (-32005, "CONTENT_TYPE_NOT_SUPPORTED", 415),
            A2aError::Version(_) => (-32009, "VERSION_NOT_SUPPORTED", 400),
            A2aError::TooMany(_) => (-32029, "TOO_MANY_TASKS", 429),
            A2aError::NotAllowed(_) => (-32030, "NOT_ALLOWED", 403),
            A2aError::Unavailable(_) => (-32603, "INTERNAL_ERROR", 503),
        }
    }

    /// The status in HTTP.
    pub const fn http_status(&self) -> u16 {
        self.codes().2
    }

    /// The name of the status in gRPC, which the HTTP binding repeats.
    const fn status_name(&self) -> &'static str {
        match self {
            A2aError::Parse(_)
            | A2aError::InvalidRequest(_)
            | A2aError::InvalidParams(_)
            | A2aError::ContentType(_) => "INVALID_ARGUMENT",
            A2aError::UnknownMethod(_) => "UNIMPLEMENTED",
            A2aError::TaskNotFound(_) => "NOT_FOUND",
            A2aError::NotCancelable | A2aError::Unsupported(_) | A2aError::Version(_) => {
                "FAILED_PRECONDITION"
            }
            A2aError::TooMany(_) => "RESOURCE_EXHAUSTED",
            A2aError::NotAllowed(_) => "PERMISSION_DENIED",
            A2aError::Unavailable(_) => "UNAVAILABLE",
        }
    }

    /// The error as JSON-RPC has it.
    pub fn to_rpc(&self) -> Value {
        let (code, reason, _) = self.codes();
        json!({
            "code": code, "message": self.to_string(),
            "data": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": reason, "domain": "a2a-protocol.org",
            }],
        })
    }

    /// The error as the HTTP binding has it.
    pub fn to_http(&self) -> Value {
        let (_, reason, status) = self.codes();
        json!({ "error": {
            "code": status, "status": self.status_name(), "message": self.to_string(),
            "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": reason, "domain": "a2a-protocol.org",
            }],
        } })
    }
}
