//! A freeze denies every pending request.

use super::event::{Choice, Transition, Vote};
use super::scope::ApprovalScope;
use super::{Decider, Request, State};
use countersign_types::time::Moment;

/// The channel of a denial by a freeze.
pub const FREEZE: &str = "freeze";

impl Request {
    pub(super) fn freeze(&mut self, person: String, now: Moment) -> Transition {
        let reason = format!("frozen by {person}");
        if self.votes.iter().all(|earlier| earlier.person != person) {
            let vote = Vote {
                scope: ApprovalScope::Once,
                person: person.clone(),
                choice: Choice::Deny,
                channel: FREEZE.to_owned(),
                reason: reason.clone(),
                at: now.at,
            };
            self.votes.push(vote);
        }
        let by = Decider::People(vec![person]);
        self.end(State::Denied, by, FREEZE, &reason, now.at, self.digest)
    }
}
