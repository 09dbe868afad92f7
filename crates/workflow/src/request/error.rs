//! Why an event is rejected.

use std::fmt;

use countersign_types::time::Timestamp;

use super::State;
use crate::assurance::InsufficientAssurance;

/// Why an event changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionError {
    /// It already ended in this state.
    Ended(State),
    /// Its deadline has passed; it expires.
    DeadlinePassed,
    /// The person was shown another call than the one that was requested.
    DigestMismatch,
    /// The requester cannot answer.
    OwnRequest,
    /// This person already answered.
    AlreadyAnswered,
    /// The approval needs a reason.
    ReasonRequired,
    /// The approval needs one of the two words of the call.
    WordRequired,
    /// Only the requester can cancel.
    NotRequester,
    /// The system clock is behind times that were already recorded.
    ClockUnreliable,
    /// In a crisis, a call that several people decide cannot be edited: the text would have to be
    /// kept for the others.
    CrisisEditNeedsOnePerson,
    /// A call in a crisis can only be approved unchanged or denied.
    EditInCrisis,
    /// An edited call is approved once.
    EditForSession,
    /// The command has no parts that can be approved alone.
    NoParts,
    /// Parts of a call that several people decide cannot be approved by one.
    PartsNeedOnePerson,
    /// No approval for the rest of a session covers this call.
    NotForSession,
    /// No approval for the repository covers this call.
    NotForRepository,
    /// The identity of the approver is not certain enough.
    InsufficientAssurance(InsufficientAssurance),
    /// The person, their role or the account they use is newer than the request.
    NewerThanRequest,
    /// The waiting period of the person, the passkey or the account ends at this time.
    WaitingUntil(Timestamp),
}

impl fmt::Display for TransitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            TransitionError::InsufficientAssurance(little) => return little.fmt(f),
            TransitionError::WaitingUntil(time) => {
                return write!(
                    f,
                    "this account, role or passkey is new; it cannot approve before {time}"
                );
            }
            TransitionError::NewerThanRequest => {
                "this account, role or link is newer than the request, so it cannot approve the request"
            }
            TransitionError::Ended(State::Approved) => "the request was already approved",
            TransitionError::Ended(State::Denied) => "the request was already denied",
            TransitionError::Ended(State::Cancelled) => "the agent cancelled the request",
            TransitionError::Ended(State::Expired | State::Pending)
            | TransitionError::DeadlinePassed => {
                "the deadline has passed; the request was denied without an answer"
            }
            TransitionError::DigestMismatch => {
                "the call you were shown is not the call to decide, or a person edited it since; \
                 look at it again"
            }
            TransitionError::OwnRequest => "you cannot answer your own request",
            TransitionError::AlreadyAnswered => "you already answered this request",
            TransitionError::ReasonRequired => "approval requires a reason",
            TransitionError::WordRequired => {
                "approval of a HIGH call requires one of its two words"
            }
            TransitionError::NotRequester => "only the requester can cancel the request",
            TransitionError::ClockUnreliable => {
                "the system clock went back; nothing is approved until it catches up"
            }
            TransitionError::CrisisEditNeedsOnePerson => {
                "several people decide this call in a crisis, so it cannot be edited"
            }
            TransitionError::NoParts => "this call has no parts that can be approved alone",
            TransitionError::PartsNeedOnePerson => "several people decide this call, not its parts",
            TransitionError::EditForSession => {
                "an edited call is approved once, not for the session or the repository"
            }
            TransitionError::NotForSession => {
                "this call cannot be approved for the session; approve it once, or deny it"
            }
            TransitionError::NotForRepository => {
                "this call cannot be approved for the repository; approve it once, or deny it"
            }
            TransitionError::EditInCrisis => {
                "the session is in a crisis since this call was asked about; deny it"
            }
        };
        f.write_str(text)
    }
}

impl std::error::Error for TransitionError {}
