//! What can go wrong. Every one of these means that nothing was approved.

use serde::Deserialize;

/// Why there is no answer that can be acted on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was to be sent cannot be sent.
    #[error("{0}")]
    Input(String),
    /// The endpoint does not answer, or the connection was lost.
    #[error("{endpoint} does not answer: {why}")]
    Unreachable {
        /// The endpoint.
        endpoint: String,
        /// What happened.
        why: String,
        /// Whether the question may have arrived all the same.
        sent: bool,
    },
    /// The answer is not one that Countersign gives.
    #[error("the answer was not understood: {0}")]
    Unexpected(String),
    /// The call is denied without a person having been asked.
    #[error("{0}")]
    Denied(Box<Problem>),
    /// A part is missing that it takes to approve anything.
    #[error("{detail}")]
    Unavailable {
        /// Which part, by the name of the problem.
        part: String,
        /// What happened.
        detail: String,
        /// When it is worth trying again, in seconds.
        retry_after: Option<u32>,
    },
    /// The credential is missing, unknown or has ended.
    #[error("{0}")]
    Unauthorized(Box<Problem>),
    /// The credential is good, but not for this.
    #[error("{0}")]
    Forbidden(Box<Problem>),
    /// There is no such thing, or not for this caller.
    #[error("{0}")]
    NotFound(Box<Problem>),
    /// It cannot be done as things stand.
    #[error("{0}")]
    Conflict(Box<Problem>),
    /// Too many wrong guesses or too many questions.
    #[error("{0}")]
    TooMany(Box<Problem>),
    /// Anything else that was refused.
    #[error("{0}")]
    Refused(Box<Problem>),
}

impl Error {
    /// The problem document, if the daemon sent one.
    pub fn problem(&self) -> Option<&Problem> {
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
            | Error::Unavailable { .. } => None,
        }
    }

    /// Whether the same question may get another answer a little later.
    pub fn passes_by_itself(&self) -> bool {
        matches!(self, Error::Unreachable { .. } | Error::Unavailable { .. })
    }
}

/// A problem document (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    /// `urn:countersign:problem:NAME`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same for people.
    pub title: String,
    /// The status code.
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    /// What became of the call: `denied`, `unavailable` or `none`.
    #[serde(default)]
    pub outcome: String,
    /// When it is worth trying again, in seconds.
    #[serde(default)]
    pub retry_after: Option<u32>,
    /// Why a permit was not taken.
    #[serde(default)]
    pub why: Option<String>,
}

impl Problem {
    /// The last part of its type, such as `reason-needed`.
    pub fn name(&self) -> &str {
        self.kind.rsplit(':').next().unwrap_or_default()
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
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
