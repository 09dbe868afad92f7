//! Events of a request and the transitions they cause. Decisions are created only here.

use serde::Serialize;

use super::error::TransitionError;
use super::parts_answer::PartsAnswer;
use super::proposed_edit::EditedCall;
use super::scope::ApprovalScope;
use super::stop_cause::StopCause;
use super::{Decider, Decision, EscalationLevel, Request, Requester, State};
use crate::assurance::{Authority, RequiredAssurance};
use countersign_json::canonical::CallDigest;
use countersign_types::time::{Moment, Timestamp};

/// Approve or deny; there is no default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The call may run.
    Approve,
    /// The call must not run.
    Deny,
}

/// One person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Vote {
    /// The name under which the person authenticated.
    pub person: String,
    /// Approve or deny.
    pub choice: Choice,
    /// For how long the person approved; `Once` for a denial.
    pub scope: ApprovalScope,
    /// Through which channel.
    pub channel: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// An event of a request.
#[expect(
    clippy::large_enum_variant,
    reason = "an event is passed on once and stored nowhere; a box would only add an allocation"
)]
#[derive(Debug, Clone)]
pub enum Event {
    /// A person answers.
    Answer {
        /// The authenticated person.
        person: String,
        /// Approve or deny.
        choice: Choice,
        /// For how long an approval counts.
        scope: ApprovalScope,
        /// The digest of the call that the person was shown.
        seen: CallDigest,
        /// The call to run instead, if the person edited it.
        edited: Option<EditedCall>,
        /// Through which channel.
        channel: String,
        /// Why.
        reason: String,
        /// The word that the person typed from the call's two words; empty if none. Approving a
        /// HIGH call requires it.
        word: String,
        /// The person's authority, and what the current rules require.
        standing: (Authority, RequiredAssurance),
    },
    /// A person approves parts of a compound command; the whole does not run.
    AnswerParts(Box<PartsAnswer>),
    /// The requester cancels it.
    Cancel {
        /// The authenticated requester.
        by: Requester,
    },
    /// A person stops everything, or everything of a conversation: the request is denied, whatever
    /// its quorum.
    Stop {
        /// The person.
        person: String,
        /// What they did.
        cause: StopCause,
    },
    /// Time passed: the request may escalate or expire.
    Time,
}

/// What an event changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transition {
    /// Nothing was due.
    Nothing,
    /// It escalated to this level, where more people are asked.
    Escalated(EscalationLevel),
    /// An approval was counted; more are needed.
    ApprovalCounted {
        /// How many people approved so far.
        approvals: u8,
        /// How many approvals are needed.
        needed: u8,
    },
    /// A denial was counted; more are needed.
    DenialCounted {
        /// How many people denied so far.
        objections: u8,
        /// How many denials are needed.
        needed: u8,
    },
    /// It ended.
    Ended(Decision),
}

/// What the person was shown, and what they typed from it.
pub(super) struct Shown<'a> {
    pub seen: CallDigest,
    pub word: &'a str,
}

impl Request {
    /// Applies an event. An error changes nothing.
    pub fn apply(&mut self, event: Event, now: Moment) -> Result<Transition, TransitionError> {
        if self.state.has_ended() {
            let ended = Err(TransitionError::Ended(self.state));
            return if matches!(event, Event::Time) { Ok(Transition::Nothing) } else { ended };
        }
        match event {
            Event::Time => Ok(self.pass_time(now)),
            Event::AnswerParts(given) => self.answer_parts(*given, now),
            Event::Cancel { by } => self.cancel(&by, now),
            Event::Stop { .. } if self.schedule.is_over(now.at) => Ok(self.pass_time(now)),
            Event::Stop { person, cause } => Ok(self.stop(person, cause, now)),
            Event::Answer {
                person,
                choice,
                scope,
                seen,
                edited,
                channel,
                reason,
                word,
                standing,
            } => {
                let scope = if choice == Choice::Approve { scope } else { ApprovalScope::Once };
                let vote = Vote { person, choice, scope, channel, reason, at: now.at };
                self.answer(vote, &Shown { seen, word: &word }, edited, standing, now)
            }
        }
    }

    fn pass_time(&mut self, now: Moment) -> Transition {
        if self.schedule.is_over(now.at) {
            return self.end(State::Expired, Decider::Deadline, "", "", now.at, self.digest);
        }
        let due = self.due_level(now.at);
        if due > self.level {
            self.level = due;
            return Transition::Escalated(due);
        }
        Transition::Nothing
    }

    fn cancel(&mut self, by: &Requester, now: Moment) -> Result<Transition, TransitionError> {
        if *by != self.requester {
            return Err(TransitionError::NotRequester);
        }
        if self.schedule.is_over(now.at) {
            return Err(TransitionError::DeadlinePassed);
        }
        Ok(self.end(State::Cancelled, Decider::Requester, "", "", now.at, self.digest))
    }

    pub(super) fn end(
        &mut self,
        state: State,
        by: Decider,
        channel: &str,
        reason: &str,
        at: Timestamp,
        digest: CallDigest,
    ) -> Transition {
        let (channel, reason) = (channel.to_owned(), reason.to_owned());
        let decision = Decision { state, by, channel, reason, at, digest };
        self.state = state;
        self.decision = Some(decision.clone());
        Transition::Ended(decision)
    }
}
