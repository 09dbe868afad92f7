//! A person's answer: what it takes, and how it counts.

use super::error::TransitionError;
use super::event::{Choice, Shown, Transition, Vote};
use super::proposed_edit::{Ballot, EditedCall, ProposedEdit};
use super::scope::ApprovalScope;
use super::{Decider, Request, Requester, State, needs_word};
use crate::assurance::{Authority, RequiredAssurance, may_approve};
use countersign_risk::word_pair::word_pair;
use countersign_types::tier::Tier;
use countersign_types::time::Moment;

impl Request {
    pub(super) fn answer(
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
        let ballot = self.ballot(edited);
        self.may_answer(&vote, &ballot)?;
        match vote.choice {
            // A denial is always accepted: without the right digest, without a reason, with a wrong
            // clock.
            Choice::Deny => Ok(self.object(vote)),
            Choice::Approve => {
                self.may_approve(&vote, shown, &ballot, now)?;
                self.may_vote(standing, now)?;
                let needs = needs.at_least(ballot.assurance);
                may_approve(&needs, standing, ballot.tier, ballot.crisis)
                    .map_err(TransitionError::InsufficientAssurance)?;
                Ok(self.count(vote, &ballot))
            }
        }
    }

    /// Whether this person may answer at all, or once more.
    fn may_answer(&self, vote: &Vote, ballot: &Ballot) -> Result<(), TransitionError> {
        // A person who works alone can answer their own request, if its terms say so and nobody
        // else has to approve the call.
        let is_own = matches!(&self.requester, Requester::Person(name) if *name == vote.person);
        let needs_others = vote.choice == Choice::Approve && ballot.approve > 1;
        if is_own && (!self.own_approval || needs_others) {
            return Err(TransitionError::OwnRequest);
        }
        let earlier = self.votes.iter().find(|earlier| earlier.person == vote.person);
        let counts_again = match earlier.map(|earlier| earlier.choice) {
            None => true,
            Some(Choice::Deny) => false,
            // An edit discards the approvals of the call that it replaces, and a proposed edit can
            // be denied by everyone, also by the person who proposed it.
            Some(Choice::Approve) => match vote.choice {
                Choice::Approve => ballot.replaces,
                Choice::Deny => self.proposal.is_some(),
            },
        };
        if counts_again { Ok(()) } else { Err(TransitionError::AlreadyAnswered) }
    }

    fn may_approve(
        &self,
        vote: &Vote,
        shown: &Shown<'_>,
        ballot: &Ballot,
        now: Moment,
    ) -> Result<(), TransitionError> {
        let Ballot { tier, crisis, .. } = *ballot;
        let needs_reason = tier == Tier::Critical || crisis;
        if !now.reliable {
            Err(TransitionError::ClockUnreliable)
        } else if shown.seen != self.current_digest() {
            Err(TransitionError::DigestMismatch)
        } else if needs_reason && vote.reason.trim().is_empty() {
            Err(TransitionError::ReasonRequired)
        } else if needs_word(tier, crisis) && !word_pair(&ballot.digest.canonical).has(shown.word) {
            Err(TransitionError::WordRequired)
        } else if ballot.edited && vote.scope != ApprovalScope::Once {
            Err(TransitionError::EditForSession)
        } else if vote.scope == ApprovalScope::Repository && tier > Tier::Medium {
            Err(TransitionError::NotForRepository)
        } else if vote.scope != ApprovalScope::Once && needs_reason {
            Err(TransitionError::NotForSession)
        } else if ballot.edited && crisis && !self.crisis {
            Err(TransitionError::EditInCrisis)
        } else if ballot.edited && crisis && ballot.approve > 1 {
            Err(TransitionError::CrisisEditNeedsOnePerson)
        } else {
            Ok(())
        }
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
        self.votes.retain(|earlier| earlier.person != vote.person);
        self.votes.push(vote);
        let objections = self.tally(Choice::Deny);
        // One denial is enough for a call that a person wrote and nobody requested.
        let needed = if self.proposal.is_some() { 1 } else { self.quorum.deny.max(1) };
        if objections < needed {
            return Transition::DenialCounted { objections, needed };
        }
        let by = self.people(Choice::Deny);
        self.end(State::Denied, by, &channel, &reason, at, self.digest)
    }

    fn count(&mut self, vote: Vote, ballot: &Ballot) -> Transition {
        let (channel, reason, at) = (vote.channel.clone(), vote.reason.clone(), vote.at);
        if ballot.replaces {
            // No approval of another call counts for this one.
            self.votes.retain(|earlier| earlier.choice == Choice::Deny);
            let person = vote.person.clone();
            let call = ballot.proposed(self.quorum);
            self.proposal = (ballot.approve > 1).then_some(ProposedEdit { person, at, call });
        }
        self.votes.push(vote);
        let (approvals, needed) = (self.tally(Choice::Approve), ballot.approve);
        if approvals < needed {
            return Transition::ApprovalCounted { approvals, needed };
        }
        let by = self.people(Choice::Approve);
        self.end(State::Approved, by, &channel, &reason, at, ballot.digest)
    }

    fn tally(&self, choice: Choice) -> u8 {
        let count = self.votes.iter().filter(|vote| vote.choice == choice).count();
        u8::try_from(count).unwrap_or(u8::MAX)
    }

    fn people(&self, choice: Choice) -> Decider {
        let said = self.votes.iter().filter(|vote| vote.choice == choice);
        Decider::People(said.map(|vote| vote.person.clone()).collect())
    }
}
