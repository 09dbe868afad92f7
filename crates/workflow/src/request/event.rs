//! Events of a request and the transitions they cause. Decisions are created only here.

use serde::Serialize;

use super::error::TransitionError;
use super::parts_answer::PartsAnswer;
use super::scope::ApprovalScope;
use super::stop_cause::StopCause;
use super::{Decider, Decision, EscalationLevel, Quorum, Request, Requester, State, needs_word};
use crate::assurance::{Authority, RequiredAssurance, may_approve};
use countersign_json::canonical::CallDigest;
use countersign_risk::word_pair::word_pair;
use countersign_types::tier::Tier;
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

/// A call that a person edited, assessed again. It is approved under its own tier if that is
/// higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditedCall {
    /// Its digests.
    pub digest: CallDigest,
    /// Its tier.
    pub tier: Tier,
    /// Whether the crisis rules apply to it.
    pub crisis: bool,
    /// How many people the current rules require.
    pub quorum: Quorum,
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
struct Shown<'a> {
    seen: CallDigest,
    word: &'a str,
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

    fn answer(
        &mut self,
        vote: Vote,
        shown: &Shown<'_>,
        edited: Option<EditedCall>,
        (standing, needs): (Authority, RequiredAssurance),
        now: Moment,
    ) -> Result<Transition, TransitionError> {
        if self.schedule.is_over(now.at) {
            return Err(TransitionError::DeadlinePassed);
        }
        // A person who works alone can answer their own request, if its terms say so.
        let is_own = matches!(&self.requester, Requester::Person(name) if *name == vote.person);
        if is_own && !self.own_approval {
            return Err(TransitionError::OwnRequest);
        }
        if self.votes.iter().any(|earlier| earlier.person == vote.person) {
            return Err(TransitionError::AlreadyAnswered);
        }
        match vote.choice {
            // A denial is always accepted: without the right digest, without a reason, with a wrong
            // clock.
            Choice::Deny => Ok(self.object(vote)),
            Choice::Approve => {
                self.may_approve(&vote, shown, edited, now)?;
                self.may_vote(standing, now)?;
                let (tier, crisis) = self.gravity(edited);
                may_approve(&needs, standing, tier, crisis)
                    .map_err(TransitionError::InsufficientAssurance)?;
                Ok(self.count(vote, edited.map_or(self.digest, |edited| edited.digest)))
            }
        }
    }

    fn may_approve(
        &self,
        vote: &Vote,
        shown: &Shown<'_>,
        edited: Option<EditedCall>,
        now: Moment,
    ) -> Result<(), TransitionError> {
        let (tier, crisis) = self.gravity(edited);
        let runs = edited.map_or(self.digest, |edited| edited.digest);
        let needs_reason = tier == Tier::Critical || crisis;
        let quorum = edited.map_or(0, |edited| edited.quorum.approve).max(self.quorum.approve);
        if !now.reliable {
            Err(TransitionError::ClockUnreliable)
        } else if shown.seen != self.digest {
            Err(TransitionError::DigestMismatch)
        } else if needs_reason && vote.reason.trim().is_empty() {
            Err(TransitionError::ReasonRequired)
        } else if needs_word(tier, crisis) && !word_pair(&runs.canonical).has(shown.word) {
            Err(TransitionError::WordRequired)
        } else if edited.is_some() && vote.scope != ApprovalScope::Once {
            Err(TransitionError::EditForSession)
        } else if vote.scope == ApprovalScope::Repository && tier > Tier::Medium {
            Err(TransitionError::NotForRepository)
        } else if vote.scope != ApprovalScope::Once && needs_reason {
            Err(TransitionError::NotForSession)
        } else if edited.is_some() && crisis && !self.crisis {
            Err(TransitionError::EditInCrisis)
        } else if edited.is_some() && quorum > 1 {
            Err(TransitionError::EditNeedsOnePerson)
        } else {
            Ok(())
        }
    }

    /// The tier and the crisis flag of the call that would run. An edit can only raise them.
    fn gravity(&self, edited: Option<EditedCall>) -> (Tier, bool) {
        let tier = edited.map_or(self.tier, |edited| edited.tier.max(self.tier));
        (tier, self.crisis || edited.is_some_and(|edited| edited.crisis))
    }

    /// Whether this person had the right to answer before the request, and has completed the
    /// waiting period.
    pub(super) fn may_vote(&self, standing: Authority, now: Moment) -> Result<(), TransitionError> {
        if standing.tenure.since > self.schedule.created {
            Err(TransitionError::NewerThanRequest)
        } else if standing.tenure.active_from > now.at {
            Err(TransitionError::WaitingUntil(standing.tenure.active_from))
        } else {
            Ok(())
        }
    }

    pub(super) fn object(&mut self, vote: Vote) -> Transition {
        let (channel, reason, at) = (vote.channel.clone(), vote.reason.clone(), vote.at);
        self.votes.push(vote);
        let objections = self.tally(Choice::Deny);
        let needed = self.quorum.deny.max(1);
        if objections < needed {
            return Transition::DenialCounted { objections, needed };
        }
        let by = self.people(Choice::Deny);
        self.end(State::Denied, by, &channel, &reason, at, self.digest)
    }

    fn count(&mut self, vote: Vote, digest: CallDigest) -> Transition {
        let (channel, reason, at) = (vote.channel.clone(), vote.reason.clone(), vote.at);
        self.votes.push(vote);
        let approvals = self.tally(Choice::Approve);
        let needed = self.quorum.approve.max(1);
        if approvals < needed {
            return Transition::ApprovalCounted { approvals, needed };
        }
        let by = self.people(Choice::Approve);
        self.end(State::Approved, by, &channel, &reason, at, digest)
    }

    fn tally(&self, choice: Choice) -> u8 {
        let count = self.votes.iter().filter(|vote| vote.choice == choice).count();
        u8::try_from(count).unwrap_or(u8::MAX)
    }

    fn people(&self, choice: Choice) -> Decider {
        let said = self.votes.iter().filter(|vote| vote.choice == choice);
        Decider::People(said.map(|vote| vote.person.clone()).collect())
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
