//! Problem documents (RFC 9457): what happened to the call, why, and what to do.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use countersign_store::StoreError;
use countersign_workflow::assurance::{Assurance, TooLittle};
use countersign_workflow::request::Refusal;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::auth::Stranger;
use crate::gate::Rejection;

/// What went wrong. Every one of these means that nothing was allowed by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The family of names that `name` belongs to.
    pub family: &'static str,
    /// A stable name; family and name together are a URN.
    pub name: &'static str,
    /// The same for people.
    pub title: &'static str,
    /// The status code.
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    /// What became of the call: `denied`, `unavailable`, or `none` where no call was asked about.
    pub outcome: &'static str,
    /// One word for programs, where there are several reasons for the same problem.
    pub why: Option<&'static str>,
    /// When it is worth trying again, in seconds.
    pub retry_after: Option<u32>,
}

/// Our own problems.
const OURS: &str = "urn:countersign:problem:";

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut members = out.serialize_map(None)?;
        members.serialize_entry("type", &format_args!("{}{}", self.family, self.name))?;
        members.serialize_entry("title", self.title)?;
        members.serialize_entry("status", &self.status)?;
        members.serialize_entry("detail", &self.detail)?;
        members.serialize_entry("outcome", self.outcome)?;
        // The seed's clients look here.
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

impl Problem {
    /// A problem by name.
    pub fn new(
        status: StatusCode,
        name: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Problem {
        Problem {
            family: OURS,
            name,
            title,
            status: status.as_u16(),
            detail: detail.into(),
            outcome: "none",
            why: None,
            retry_after: None,
        }
    }

    /// What the caller sent cannot be read.
    pub fn bad(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "bad-request", "This cannot be read", detail)
    }

    /// There is no such thing, or it is not the caller's.
    pub fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not-found", "There is no such thing", detail)
    }

    /// It cannot be done as things stand.
    pub fn conflict(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, "conflict", "This cannot be done any more", detail)
    }

    /// Says what became of the call.
    #[must_use]
    pub fn with_outcome(mut self, outcome: &'static str) -> Problem {
        self.outcome = outcome;
        self
    }
}

impl From<Stranger> for Problem {
    fn from(stranger: Stranger) -> Problem {
        let detail = stranger.to_string();
        match stranger {
            Stranger::Nobody | Stranger::Unknown => {
                Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "Who are you?", detail)
            }
            Stranger::NotAPerson | Stranger::NotAnAdministrator | Stranger::NoProof => {
                Problem::new(StatusCode::FORBIDDEN, "forbidden", "You may not do this", detail)
            }
            Stranger::LockedOut(seconds) => Problem {
                retry_after: Some(seconds),
                ..Problem::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "locked-out",
                    "Too many wrong guesses",
                    detail,
                )
            },
        }
    }
}

impl From<Rejection> for Problem {
    fn from(held: Rejection) -> Problem {
        let detail = held.to_string();
        match held {
            Rejection::Refused => {
                Problem::new(StatusCode::FORBIDDEN, "refused", "The policy refuses this", detail)
                    .with_outcome("denied")
            }
            Rejection::TooManyQuestions(seconds) => Problem {
                retry_after: Some(seconds),
                ..Problem::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "too-many-questions",
                    "People are asked too often",
                    detail,
                )
                .with_outcome("denied")
            },
            Rejection::Quarantined(_) => Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "quarantined",
                "This agent may not ask for a while",
                detail,
            )
            .with_outcome("denied"),
            Rejection::Unavailable(error) => Problem::from(error),
            Rejection::ClockUnsettled | Rejection::NoChance | Rejection::Unwritable => {
                unavailable(detail)
            }
            Rejection::NoSuchRequest => Problem::not_found(detail),
        }
    }
}

fn unavailable(detail: String) -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        "Nothing can be approved at the moment",
        detail,
    )
    .with_outcome("unavailable")
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        match error {
            StoreError::NotFound(what) => Problem::not_found(format!("there is no such {what}")),
            StoreError::Refused(refusal) => Problem::from(refusal),
            StoreError::KeyReused => Problem::conflict(error.to_string()).with_outcome("denied"),
            StoreError::GrantInactive | StoreError::Exists(_) => {
                Problem::conflict(error.to_string())
            }
            StoreError::Invalid(_) => Problem::bad(error.to_string()).with_outcome("denied"),
            StoreError::Unavailable(_) | StoreError::Overloaded | StoreError::Closed => {
                unavailable(format!("denied: {error}, so nothing can be recorded"))
            }
            // What the row really holds is for the log, not for the caller.
            StoreError::Corrupt(_) => unavailable("denied: the store cannot be read".to_owned()),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let detail = refusal.to_string();
        match refusal {
            Refusal::OwnRequest | Refusal::NotYours => {
                Problem::new(StatusCode::FORBIDDEN, "forbidden", "You may not do this", detail)
            }
            Refusal::NewerThanRequest | Refusal::WaitingUntil(_) => Problem::new(
                StatusCode::FORBIDDEN,
                "too-new",
                "You cannot approve this yet",
                detail,
            ),
            Refusal::ReasonNeeded => Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "reason-needed",
                "A reason is needed",
                detail,
            ),
            Refusal::TooLittle(little) => Problem {
                why: Some(match little {
                    TooLittle::Needs(needed) => needed.label(),
                    TooLittle::WayIn(_) => "channel",
                }),
                ..Problem::new(
                    StatusCode::FORBIDDEN,
                    if little == TooLittle::Needs(Assurance::Passkey) {
                        "passkey"
                    } else {
                        "not-sure-enough"
                    },
                    "This needs more than that",
                    detail,
                )
            },
            Refusal::ClockUnsettled => unavailable(detail),
            Refusal::Ended(_)
            | Refusal::TooLate
            | Refusal::NotThisCall
            | Refusal::AnsweredAlready
            | Refusal::EditNeedsOnePerson
            | Refusal::EditInCrisis => Problem::conflict(detail),
        }
    }
}

impl IntoResponse for Problem {
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
