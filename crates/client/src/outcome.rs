//! How a request ended. `Approved` is created only in this file.

use crate::error::Error;
use crate::request::{RequestRecord, RequestStatus};

/// How a request ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The call may run, once, as requested (or as edited).
    Approved(Approval),
    /// A person, the rules or a quorum denied it.
    Denied(Box<RequestRecord>),
    /// Not answered in time.
    Expired(Box<RequestRecord>),
    /// The agent cancelled it.
    Cancelled(Box<RequestRecord>),
}

/// An approved request. It can only be created from a request in the state "approved".
#[derive(Debug, Clone, PartialEq)]
pub struct Approval(Box<RequestRecord>);

impl Approval {
    /// The request.
    pub fn request(&self) -> &RequestRecord {
        &self.0
    }

    /// The permit, if one was issued.
    pub fn permit(&self) -> Option<&str> {
        self.0.permit.as_deref()
    }
}

impl Outcome {
    /// The outcome of a request; `None` while it is pending.
    pub fn of(request: RequestRecord) -> Result<Option<Outcome>, Error> {
        if request.decision.as_ref().map_or(RequestStatus::Pending, |one| one.result)
            != request.state
        {
            return Err(Error::Unexpected("the decision and the state differ".to_owned()));
        }
        let request = Box::new(request);
        Ok(match request.state {
            RequestStatus::Pending => None,
            RequestStatus::Approved => Some(Outcome::Approved(Approval(request))),
            RequestStatus::Denied => Some(Outcome::Denied(request)),
            RequestStatus::Expired => Some(Outcome::Expired(request)),
            RequestStatus::Cancelled => Some(Outcome::Cancelled(request)),
        })
    }

    /// The request.
    pub fn request(&self) -> &RequestRecord {
        match self {
            Outcome::Approved(approval) => &approval.0,
            Outcome::Denied(request) | Outcome::Expired(request) | Outcome::Cancelled(request) => {
                request
            }
        }
    }

    /// Whether the call may run.
    pub fn is_approved(&self) -> bool {
        matches!(self, Outcome::Approved(_))
    }
}
