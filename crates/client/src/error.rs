//! Errors. Each of them means that nothing was approved.

use serde::Deserialize;

/// Why there is no usable response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input cannot be sent.
    #[error("{0}")]
    Input(String),
    /// The daemon does not respond, or the connection broke.
    #[error("{endpoint} does not answer: {why}")]
    Unreachable {
        /// The endpoint.
        endpoint: String,
        /// What happened.
        why: String,
        /// Whether the request may have arrived anyway.
        sent: bool,
    },
    /// The response is not valid.
    #[error("invalid response: {0}")]
    Unexpected(String),
    /// The response does not come from the daemon whose key is pinned.
    #[error(
        "the daemon is not trusted: {0}; nothing was approved. `countersign doctor` shows which \
         key is pinned; `countersign keys trust` pins another daemon's key"
    )]
    Untrusted(String),
    /// The certificate of the other end is not the trusted one, or is not valid.
    #[error(
        "the certificate of {endpoint} is refused: {why}; nothing was sent to it. `countersign keys \
         tls` on the daemon's machine prints the pin that belongs into the address"
    )]
    Certificate {
        /// The endpoint.
        endpoint: String,
        /// Why.
        why: String,
    },
    /// The call was denied without asking a person.
    #[error("{0}")]
    Denied(Box<ProblemDetails>),
    /// A component that every approval needs is unavailable.
    #[error("{detail}")]
    Unavailable {
        /// Which component, by the name of the problem.
        part: String,
        /// What happened.
        detail: String,
        /// When to retry, in seconds.
        retry_after: Option<u32>,
    },
    /// The credential is missing, unknown or expired.
    #[error("{0}")]
    Unauthorized(Box<ProblemDetails>),
    /// The credential does not permit this.
    #[error("{0}")]
    Forbidden(Box<ProblemDetails>),
    /// Not found, or not visible to this caller.
    #[error("{0}")]
    NotFound(Box<ProblemDetails>),
    /// Not possible in the current state.
    #[error("{0}")]
    Conflict(Box<ProblemDetails>),
    /// Too many wrong credentials or too many requests.
    #[error("{0}")]
    TooMany(Box<ProblemDetails>),
    /// Any other rejection.
    #[error("{0}")]
    Refused(Box<ProblemDetails>),
}

impl Error {
    /// The problem document, if the daemon sent one.
    pub fn problem(&self) -> Option<&ProblemDetails> {
        match self {
            Error::Denied(problem)
            | Error::Unauthorized(problem)
            | Error::Forbidden(problem)
            | Error::NotFound(problem)
            | Error::Conflict(problem)
            | Error::TooMany(problem)
            | Error::Refused(problem) => Some(problem),
            Error::Input(_)
            | Error::Unreachable { .. }
            | Error::Unexpected(_)
            | Error::Untrusted(_)
            | Error::Certificate { .. }
            | Error::Unavailable { .. } => None,
        }
    }

    /// Whether the same request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Unreachable { .. } | Error::Unavailable { .. })
    }
}

/// A problem document (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{detail}")]
pub struct ProblemDetails {
    /// `urn:countersign:problem:NAME`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A short description for people.
    pub title: String,
    /// The status code.
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    /// What happened to the call: `denied`, `unavailable` or `none`.
    #[serde(default)]
    pub outcome: String,
    /// When to retry, in seconds.
    #[serde(default)]
    pub retry_after: Option<u32>,
    /// Why a permit was rejected.
    #[serde(default)]
    pub why: Option<String>,
}

impl ProblemDetails {
    /// The last part of its type, such as `reason-needed`.
    pub fn name(&self) -> &str {
        self.kind.rsplit(':').next().unwrap_or_default()
    }
}

impl From<ProblemDetails> for Error {
    fn from(problem: ProblemDetails) -> Error {
        if problem.outcome == "unavailable" {
            return Error::Unavailable {
                part: problem.name().to_owned(),
                retry_after: problem.retry_after,
                detail: problem.detail,
            };
        }
        let problem = Box::new(problem);
        match problem.status {
            401 => Error::Unauthorized(problem),
            404 => Error::NotFound(problem),
            _ if problem.outcome == "denied" => Error::Denied(problem),
            403 => Error::Forbidden(problem),
            409 => Error::Conflict(problem),
            429 => Error::TooMany(problem),
            _ => Error::Refused(problem),
        }
    }
}
