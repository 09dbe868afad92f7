//! What can happen to a request, and what then follows: the only way a decision comes to be.

use std::fmt;

use serde::Serialize;

use super::{Decider, Decision, Quorum, Request, Requester, Rung, State};
use crate::assurance::{Needs, Standing, TooLittle, may_approve};
use countersign_json::canonical::CallDigest;
use countersign_types::tier::Tier;
use countersign_types::time::{Moment, Timestamp};

/// Yes or no; there is no third and no default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Let it run.
    Approve,
    /// Do not.
    Deny,
}

/// One person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Vote {
    /// Who, by the name under which they authenticated.
    pub person: String,
    /// Yes or no.
    pub choice: Choice,
    /// Through which channel.
    pub channel: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// A call that a person wrote in place of the one that was asked for, judged again. It is approved
/// under its own tier where that is graver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditedCall {
    /// Its digests.
    pub digest: CallDigest,
    /// Its tier.
    pub tier: Tier,
    /// Whether the crisis rules hold for it.
    pub crisis: bool,
    /// How many people the rules in force ask for.
    pub quorum: Quorum,
}

/// What can happen to a request.
#[derive(Debug, Clone)]
pub enum Event {
    /// A person answers.
    Answer {
        /// Who, as authenticated.
        person: String,
        /// Yes or no.
        choice: Choice,
        /// The digest of the call that this person was shown.
        seen: CallDigest,
        /// The call to run instead, if the person changed it.
        edited: Option<EditedCall>,
        /// Through which channel.
        channel: String,
        /// Why.
        reason: String,
        /// How sure we are that it is them, and what the rules in force ask for.
        standing: (Standing, Needs),
    },
    /// The requester takes it back.
    Cancel {
        /// Who, as authenticated.
        by: Requester,
    },
    /// Time passes: it may climb or expire.
    Time,
}

/// What followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing was due.
    Nothing,
    /// It climbed to this rung; the people there are asked as well.
    Climbed(Rung),
    /// A yes was counted, more are needed.
    Counted {
        /// How many people said yes by now.
        approvals: u8,
        /// How many it takes.
        needed: u8,
    },
    /// A no was counted, more are needed.
    Objected {
        /// How many people said no by now.
        objections: u8,
        /// How many it takes.
        needed: u8,
    },
    /// It is over.
    Ended(Decision),
}

/// Why an event changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is over already, this way.
    Ended(State),
    /// Its deadline has passed; it expires.
    TooLate,
    /// What the person was shown is not the call that was asked for.
    NotThisCall,
    /// Whoever asks cannot answer.
    OwnRequest,
    /// This person has answered already.
    AnsweredAlready,
    /// An approval of this needs a reason in words.
    ReasonNeeded,
    /// Only who asked can take it back.
    NotYours,
    /// The machine's clock stands behind times already written down.
    ClockUnsettled,
    /// A call that several people decide cannot be edited by one.
    EditNeedsOnePerson,
    /// A call in a crisis context is approved as it stands, or not at all.
    EditInCrisis,
    /// We are not sure enough who says yes.
    TooLittle(TooLittle),
    /// The person, their role or the account they use is newer than the request.
    NewerThanRequest,
    /// The waiting period of the person, the passkey or the account ends at this time.
    WaitingUntil(Timestamp),
}

impl Request {
    /// Lets an event happen. An error changes nothing.
    pub fn apply(&mut self, event: Event, now: Moment) -> Result<Change, Refusal> {
        if self.state.has_ended() {
            return match event {
                Event::Time => Ok(Change::Nothing),
                Event::Answer { .. } | Event::Cancel { .. } => Err(Refusal::Ended(self.state)),
            };
        }
        match event {
            Event::Time => Ok(self.pass_time(now)),
            Event::Cancel { by } => self.cancel(&by, now),
            Event::Answer { person, choice, seen, edited, channel, reason, standing } => {
                let vote = Vote { person, choice, channel, reason, at: now.at };
                self.answer(vote, &seen, edited, standing, now)
            }
        }
    }

    fn pass_time(&mut self, now: Moment) -> Change {
        if self.plan.is_over(now.at) {
            return self.end(State::Expired, Decider::Deadline, "", "", now.at, self.digest);
        }
        let due = self.plan.rung_at(now.at);
        if due > self.rung {
            self.rung = due;
            return Change::Climbed(due);
        }
        Change::Nothing
    }

    fn cancel(&mut self, by: &Requester, now: Moment) -> Result<Change, Refusal> {
        if *by != self.requester {
            return Err(Refusal::NotYours);
        }
        if self.plan.is_over(now.at) {
            return Err(Refusal::TooLate);
        }
        Ok(self.end(State::Cancelled, Decider::Requester, "", "", now.at, self.digest))
    }

    fn answer(
        &mut self,
        vote: Vote,
        seen: &CallDigest,
        edited: Option<EditedCall>,
        (standing, needs): (Standing, Needs),
        now: Moment,
    ) -> Result<Change, Refusal> {
        if self.plan.is_over(now.at) {
            return Err(Refusal::TooLate);
        }
        if matches!(&self.requester, Requester::Person(name) if *name == vote.person) {
            return Err(Refusal::OwnRequest);
        }
        if self.votes.iter().any(|earlier| earlier.person == vote.person) {
            return Err(Refusal::AnsweredAlready);
        }
        match vote.choice {
            // A no needs nothing: not the right card, not a reason, not even a good clock.
            Choice::Deny => Ok(self.object(vote)),
            Choice::Approve => {
                self.may_approve(&vote, seen, edited, now)?;
                self.may_vote(standing, now)?;
                let (tier, crisis) = self.gravity(edited);
                may_approve(&needs, standing, tier, crisis).map_err(Refusal::TooLittle)?;
                Ok(self.count(vote, edited.map_or(self.digest, |edited| edited.digest)))
            }
        }
    }

    fn may_approve(
        &self,
        vote: &Vote,
        seen: &CallDigest,
        edited: Option<EditedCall>,
        now: Moment,
    ) -> Result<(), Refusal> {
        let (tier, crisis) = self.gravity(edited);
        let needs_reason = tier == Tier::Critical || crisis;
        let quorum = edited.map_or(0, |edited| edited.quorum.approve).max(self.quorum.approve);
        if !now.settled {
            Err(Refusal::ClockUnsettled)
        } else if *seen != self.digest {
            Err(Refusal::NotThisCall)
        } else if needs_reason && vote.reason.trim().is_empty() {
            Err(Refusal::ReasonNeeded)
        } else if edited.is_some() && crisis {
            Err(Refusal::EditInCrisis)
        } else if edited.is_some() && quorum > 1 {
            Err(Refusal::EditNeedsOnePerson)
        } else {
            Ok(())
        }
    }

    /// The tier and the crisis rules of the call that would run. An edit raises them, never lowers.
    fn gravity(&self, edited: Option<EditedCall>) -> (Tier, bool) {
        let tier = edited.map_or(self.tier, |edited| edited.tier.max(self.tier));
        (tier, self.crisis || edited.is_some_and(|edited| edited.crisis))
    }

    /// Whether this person was there before the request, and has waited long enough.
    fn may_vote(&self, standing: Standing, now: Moment) -> Result<(), Refusal> {
        if standing.tenure.since > self.plan.created {
            Err(Refusal::NewerThanRequest)
        } else if standing.tenure.active_from > now.at {
            Err(Refusal::WaitingUntil(standing.tenure.active_from))
        } else {
            Ok(())
        }
    }

    fn object(&mut self, vote: Vote) -> Change {
        let (channel, reason, at) = (vote.channel.clone(), vote.reason.clone(), vote.at);
        self.votes.push(vote);
        let objections = self.tally(Choice::Deny);
        let needed = self.quorum.deny.max(1);
        if objections < needed {
            return Change::Objected { objections, needed };
        }
        let by = self.people(Choice::Deny);
        self.end(State::Denied, by, &channel, &reason, at, self.digest)
    }

    fn count(&mut self, vote: Vote, digest: CallDigest) -> Change {
        let (channel, reason, at) = (vote.channel.clone(), vote.reason.clone(), vote.at);
        self.votes.push(vote);
        let approvals = self.tally(Choice::Approve);
        let needed = self.quorum.approve.max(1);
        if approvals < needed {
            return Change::Counted { approvals, needed };
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

    fn end(
        &mut self,
        state: State,
        by: Decider,
        channel: &str,
        reason: &str,
        at: Timestamp,
        digest: CallDigest,
    ) -> Change {
        let (channel, reason) = (channel.to_owned(), reason.to_owned());
        let decision = Decision { state, by, channel, reason, at, digest };
        self.state = state;
        self.decision = Some(decision.clone());
        Change::Ended(decision)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Refusal::TooLittle(little) => return little.fmt(f),
            Refusal::WaitingUntil(time) => {
                return write!(
                    f,
                    "this account, role or passkey is new and cannot approve before {time}"
                );
            }
            Refusal::NewerThanRequest => {
                "this account, role or link is newer than the request, so it cannot approve it"
            }
            Refusal::Ended(State::Approved) => "it was approved already",
            Refusal::Ended(State::Denied) => "it was denied already",
            Refusal::Ended(State::Cancelled) => "the agent took it back",
            Refusal::Ended(State::Expired | State::Pending) | Refusal::TooLate => {
                "its time is over: it was denied because nobody answered"
            }
            Refusal::NotThisCall => "what you were shown is not what the agent asks for",
            Refusal::OwnRequest => "whoever asks cannot answer",
            Refusal::AnsweredAlready => "you have answered this already",
            Refusal::ReasonNeeded => "approving this needs a reason in words",
            Refusal::NotYours => "only who asked can take it back",
            Refusal::ClockUnsettled => {
                "this machine's clock went back, so nothing is approved until it catches up"
            }
            Refusal::EditNeedsOnePerson => "several people decide this, so it cannot be edited",
            Refusal::EditInCrisis => "a call in a crisis is approved as it stands, or denied",
        };
        f.write_str(text)
    }
}

impl std::error::Error for Refusal {}
