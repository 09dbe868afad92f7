//! What became of a question. There is one way to `Approved`, and it is in this file.

use crate::error::Error;
use crate::request::{Request, State};

/// How a question ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The call may run, once, as it was asked (or as it was edited).
    Approved(Approval),
    /// A person, the rules or a quorum said no.
    Denied(Box<Request>),
    /// Nobody answered in time.
    Expired(Box<Request>),
    /// The agent took it back.
    Cancelled(Box<Request>),
}

/// A request that was approved. It can only be made from one whose state says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval(Box<Request>);

impl Approval {
    /// The request.
    pub fn request(&self) -> &Request {
        &self.0
    }

    /// The permit, if one was given.
    pub fn permit(&self) -> Option<&str> {
        self.0.permit.as_deref()
    }
}

impl Outcome {
    /// What a document says; nothing while it is pending.
    pub fn of(request: Request) -> Result<Option<Outcome>, Error> {
        if request.decision.as_ref().map_or(State::Pending, |one| one.result) != request.state {
            return Err(Error::Unexpected("its decision and its state differ".to_owned()));
        }
        let request = Box::new(request);
        Ok(match request.state {
            State::Pending => None,
            State::Approved => Some(Outcome::Approved(Approval(request))),
            State::Denied => Some(Outcome::Denied(request)),
            State::Expired => Some(Outcome::Expired(request)),
            State::Cancelled => Some(Outcome::Cancelled(request)),
        })
    }

    /// The request behind it.
    pub fn request(&self) -> &Request {
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
