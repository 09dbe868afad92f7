//! A proposed edit: a call that one person edited and that several people must approve. And the
//! call that an approval is for, with everything that it takes.

use countersign_json::canonical::CallDigest;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;

use super::{Quorum, Request};
use crate::assurance::Assurance;

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
    /// How certain the identity of every approver must be at least, if a rule says so.
    pub assurance: Option<Assurance>,
}

/// An edited call that takes the place of the requested one until the request ends. Every approval
/// in the request's votes is for this call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedEdit {
    /// The person who edited the call.
    pub person: String,
    /// When.
    pub at: Timestamp,
    /// The call, with the terms under which it is approved.
    pub call: EditedCall,
}

/// The call that an approval is for, and what the approval takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ballot {
    pub digest: CallDigest,
    pub tier: Tier,
    pub crisis: bool,
    /// How many people must approve; at least one.
    pub approve: u8,
    pub assurance: Option<Assurance>,
    /// Whether the call differs from the requested one.
    pub edited: bool,
    /// Whether it takes the place of the call that people were asked about until now.
    pub replaces: bool,
}

impl Ballot {
    /// An edit can only raise what an approval takes.
    fn raise(mut self, call: &EditedCall) -> Ballot {
        self.tier = self.tier.max(call.tier);
        self.crisis |= call.crisis;
        self.approve = self.approve.max(call.quorum.approve);
        self.assurance = self.assurance.max(call.assurance);
        Ballot { digest: call.digest, edited: true, ..self }
    }

    /// The call as it is proposed to further people.
    pub fn proposed(&self, quorum: Quorum) -> EditedCall {
        EditedCall {
            digest: self.digest,
            tier: self.tier,
            crisis: self.crisis,
            quorum: Quorum { approve: self.approve, ..quorum },
            assurance: self.assurance,
        }
    }
}

impl Request {
    /// The call that people are asked about: the requested one, or the proposed edit of it.
    pub fn current_digest(&self) -> CallDigest {
        self.proposal.as_ref().map_or(self.digest, |proposal| proposal.call.digest)
    }

    /// The tier under which the current call is approved.
    pub fn current_tier(&self) -> Tier {
        self.ballot(None).tier
    }

    /// How many people must approve the current call; at least one.
    pub fn approvals_needed(&self) -> u8 {
        self.ballot(None).approve
    }

    /// What an approval is for: the current call, or the edit that comes with it.
    pub(super) fn ballot(&self, edited: Option<EditedCall>) -> Ballot {
        let requested = Ballot {
            digest: self.digest,
            tier: self.tier,
            crisis: self.crisis,
            approve: self.quorum.approve.max(1),
            assurance: None,
            edited: false,
            replaces: false,
        };
        let current = self.proposal.as_ref().map(|proposal| &proposal.call);
        match (current, &edited) {
            (current, None) => current.map_or(requested, |current| requested.raise(current)),
            // The same edit once more is an approval of it.
            (Some(current), Some(edited)) if current.digest == edited.digest => {
                requested.raise(current).raise(edited)
            }
            (current, Some(edited)) => {
                let replaces = current.is_some() || edited.digest != self.digest;
                Ballot { replaces, ..requested.raise(edited) }
            }
        }
    }
}
