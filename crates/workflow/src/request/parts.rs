//! A person approves parts of a compound command: the command as a whole does not run, and each
//! approved part may run alone.

use super::error::TransitionError;
use super::event::{Choice, Transition, Vote};
use super::parts_answer::PartsAnswer;
use super::scope::ApprovalScope;
use super::{Request, Requester, needs_word};
use crate::assurance::may_approve;
use countersign_risk::word_pair::word_pair;
use countersign_types::tier::Tier;
use countersign_types::time::Moment;

impl Request {
    /// Denies the whole command and approves parts of it. The person must be allowed to approve
    /// each of them alone.
    pub(super) fn answer_parts(
        &mut self,
        given: PartsAnswer,
        now: Moment,
    ) -> Result<Transition, TransitionError> {
        if self.schedule.is_over(now.at) {
            return Err(TransitionError::DeadlinePassed);
        }
        if matches!(&self.requester, Requester::Person(name) if *name == given.person) {
            return Err(TransitionError::OwnRequest);
        }
        if self.votes.iter().any(|earlier| earlier.person == given.person) {
            return Err(TransitionError::AlreadyAnswered);
        }
        self.may_approve_parts(&given, now)?;
        let (standing, needs) = given.standing;
        self.may_vote(standing, now)?;
        may_approve(&needs, standing, given.tier, false)
            .map_err(TransitionError::InsufficientAssurance)?;
        let PartsAnswer { person, channel, told, .. } = given;
        let scope = ApprovalScope::Once;
        let vote = Vote { person, choice: Choice::Deny, scope, channel, reason: told, at: now.at };
        Ok(self.object(vote))
    }

    fn may_approve_parts(&self, given: &PartsAnswer, now: Moment) -> Result<(), TransitionError> {
        let tier = given.tier;
        if !now.reliable {
            Err(TransitionError::ClockUnreliable)
        } else if given.seen != self.digest {
            Err(TransitionError::DigestMismatch)
        } else if self.crisis
            || self.requester.is_drill()
            || self.proposal.is_some()
            || tier > self.tier
        {
            Err(TransitionError::NoParts)
        } else if given.people > 1 || self.quorum.approve > 1 || self.quorum.deny > 1 {
            Err(TransitionError::PartsNeedOnePerson)
        } else if tier == Tier::Critical && given.reason.trim().is_empty() {
            Err(TransitionError::ReasonRequired)
        } else if needs_word(tier, false) && !word_pair(&self.digest.canonical).has(&given.word) {
            Err(TransitionError::WordRequired)
        } else if given.scope == ApprovalScope::Repository {
            Err(TransitionError::NotForRepository)
        } else if given.scope == ApprovalScope::Session && tier == Tier::Critical {
            Err(TransitionError::NotForSession)
        } else {
            Ok(())
        }
    }
}
