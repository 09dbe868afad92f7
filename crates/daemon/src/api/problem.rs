//! Problem documents (RFC 9457): what happened to the call, why, and what to do next.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use countersign_store::StoreError;
use countersign_workflow::assurance::{Assurance, InsufficientAssurance};
use countersign_workflow::request::TransitionError;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::auth::AuthError;
use crate::gate::Rejection;

/// An error response. None of them allows anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiProblem {
    /// The prefix of the URN.
    pub family: &'static str,
    /// A stable name; family and name together are a URN.
    pub name: &'static str,
    /// A short title for people.
    pub title: &'static str,
    /// The status code.
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    /// The outcome for the call: `denied`, `unavailable`, or `none` where no call was submitted.
    pub outcome: &'static str,
    /// A machine-readable cause, where one problem has several causes.
    pub why: Option<&'static str>,
    /// When a retry is useful, in seconds.
    pub retry_after: Option<u32>,
}

/// The result of a handler.
pub type ApiResult = Result<Response, ApiProblem>;

/// The prefix of our own problems.
const FAMILY: &str = "urn:countersign:problem:";

impl Serialize for ApiProblem {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut members = out.serialize_map(None)?;
        members.serialize_entry("type", &format_args!("{}{}", self.family, self.name))?;
        members.serialize_entry("title", self.title)?;
        members.serialize_entry("status", &self.status)?;
        members.serialize_entry("detail", &self.detail)?;
        members.serialize_entry("outcome", self.outcome)?;
        // Clients of the original API read this member.
        members.serialize_entry("error", &self.detail)?;
        if let Some(why) = self.why {
            members.serialize_entry("why", why)?;
        }
        if let Some(seconds) = self.retry_after {
            members.serialize_entry("retry_after", &seconds)?;
        }
        members.end()
    }
}

impl ApiProblem {
    /// A problem by its name.
    pub fn new(
        status: StatusCode,
        name: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> ApiProblem {
        ApiProblem {
            family: FAMILY,
            name,
            title,
            status: status.as_u16(),
            detail: detail.into(),
            outcome: "none",
            why: None,
            retry_after: None,
        }
    }

    /// The request cannot be read.
    pub fn bad_request(detail: impl Into<String>) -> ApiProblem {
        ApiProblem::new(StatusCode::BAD_REQUEST, "bad-request", "Invalid request", detail)
    }

    /// The object does not exist, or belongs to another caller.
    pub fn not_found(detail: impl Into<String>) -> ApiProblem {
        ApiProblem::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    /// The current state does not allow the change.
    pub fn conflict(detail: impl Into<String>) -> ApiProblem {
        ApiProblem::new(StatusCode::CONFLICT, "conflict", "Conflict", detail)
    }

    /// Sets the outcome for the call.
    #[must_use]
    pub fn with_outcome(mut self, outcome: &'static str) -> ApiProblem {
        self.outcome = outcome;
        self
    }
}

impl From<AuthError> for ApiProblem {
    fn from(error: AuthError) -> ApiProblem {
        let detail = error.to_string();
        match error {
            AuthError::Missing | AuthError::Invalid => ApiProblem::new(
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "Authentication required",
                detail,
            ),
            AuthError::NotAPerson | AuthError::NotAnAdministrator | AuthError::MissingProof => {
                ApiProblem::new(StatusCode::FORBIDDEN, "forbidden", "Not allowed", detail)
            }
            AuthError::LockedOut(seconds) => ApiProblem {
                retry_after: Some(seconds),
                ..ApiProblem::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "locked-out",
                    "Too many failed logins",
                    detail,
                )
            },
        }
    }
}

impl From<Rejection> for ApiProblem {
    fn from(rejection: Rejection) -> ApiProblem {
        let detail = rejection.to_string();
        match rejection {
            Rejection::Refused | Rejection::RefusedByRule(_) => {
                forbidden("refused", "Refused by the policy", detail)
            }
            Rejection::TooManyQuestions(seconds) => ApiProblem {
                retry_after: Some(seconds),
                ..ApiProblem::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "too-many-questions",
                    "Too many questions",
                    detail,
                )
                .with_outcome("denied")
            },
            Rejection::DiskBudget(seconds) => ApiProblem {
                retry_after: Some(seconds),
                ..ApiProblem::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "disk-budget",
                    "Share of the disk used up",
                    detail,
                )
                .with_outcome("denied")
            },
            Rejection::Quarantined(_) => ApiProblem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "quarantined",
                "Agent quarantined",
                detail,
            )
            .with_outcome("denied"),
            Rejection::TakenOver => forbidden("taken-over", "Taken over", detail),
            Rejection::Frozen(_) | Rejection::ApprovalSuspended(_) => {
                forbidden("frozen", "Frozen", detail)
            }
            Rejection::Unavailable(error) => ApiProblem::from(error),
            Rejection::ClockUnsettled | Rejection::EntropyUnavailable | Rejection::Unwritable => {
                unavailable(detail)
            }
            Rejection::NoSuchRequest => ApiProblem::not_found(detail),
        }
    }
}

/// A call that is denied whatever the agent does.
fn forbidden(name: &'static str, title: &'static str, detail: String) -> ApiProblem {
    ApiProblem::new(StatusCode::FORBIDDEN, name, title, detail).with_outcome("denied")
}

/// The daemon cannot do this now; trying again may work.
pub fn unavailable(detail: String) -> ApiProblem {
    ApiProblem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        "Temporarily unavailable",
        detail,
    )
    .with_outcome("unavailable")
}

impl From<StoreError> for ApiProblem {
    fn from(error: StoreError) -> ApiProblem {
        match error {
            StoreError::NotFound(what) => ApiProblem::not_found(format!("{what} not found")),
            StoreError::Refused(refusal) => ApiProblem::from(refusal),
            StoreError::KeyReused => ApiProblem::conflict(error.to_string()).with_outcome("denied"),
            StoreError::GrantInactive
            | StoreError::GrantRateExceeded
            | StoreError::GrantBudgetExceeded
            | StoreError::Exists(_) => ApiProblem::conflict(error.to_string()),
            StoreError::Invalid(_) => {
                ApiProblem::bad_request(error.to_string()).with_outcome("denied")
            }
            StoreError::Unavailable(_) | StoreError::Overloaded | StoreError::Closed => {
                unavailable(format!("denied: {error}, so nothing can be recorded"))
            }
            StoreError::Unrecorded(_) | StoreError::Halted(_) => {
                unavailable(format!("denied: {error}"))
            }
            // The details of a corrupt row go to the log, not to the caller.
            StoreError::Corrupt(_) => {
                unavailable("denied: the store returned a damaged record; see the log".to_owned())
            }
        }
    }
}

impl From<TransitionError> for ApiProblem {
    fn from(refusal: TransitionError) -> ApiProblem {
        let detail = refusal.to_string();
        match refusal {
            TransitionError::OwnRequest | TransitionError::NotRequester => {
                ApiProblem::new(StatusCode::FORBIDDEN, "forbidden", "Not allowed", detail)
            }
            TransitionError::NewerThanRequest | TransitionError::WaitingUntil(_) => {
                ApiProblem::new(StatusCode::FORBIDDEN, "too-new", "Not allowed yet", detail)
            }
            TransitionError::ReasonRequired => ApiProblem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "reason-needed",
                "Reason required",
                detail,
            ),
            TransitionError::WordRequired => ApiProblem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "word-required",
                "Typed word required",
                detail,
            ),
            TransitionError::InsufficientAssurance(too_little) => ApiProblem {
                why: Some(match too_little {
                    InsufficientAssurance::Required(needed) => needed.label(),
                    InsufficientAssurance::ChannelLimit(_) => "channel",
                }),
                ..ApiProblem::new(
                    StatusCode::FORBIDDEN,
                    if too_little == InsufficientAssurance::Required(Assurance::Passkey) {
                        "passkey"
                    } else {
                        "not-sure-enough"
                    },
                    "Stronger authentication required",
                    detail,
                )
            },
            TransitionError::ClockUnreliable => unavailable(detail),
            // The request changed meanwhile, or this answer is not possible for it.
            _ => ApiProblem::conflict(detail),
        }
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let text = serde_json::to_string(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}
