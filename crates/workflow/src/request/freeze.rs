//! A freeze denies every pending request; taking over denies those of a conversation.

use super::event::{Choice, Transition, Vote};
use super::scope::ApprovalScope;
use super::{Decider, Request, State};
use countersign_types::time::Moment;

/// The channel of a denial by a freeze.
pub const FREEZE: &str = "freeze";
/// The channel of a denial because a person took over the conversation.
pub const TAKE_OVER: &str = "take-over";

impl Request {
    pub(super) fn freeze(&mut self, person: String, now: Moment) -> Transition {
        let reason = format!("frozen by {person}");
        self.deny_alone(person, FREEZE, &reason, now)
    }

    pub(super) fn take_over(&mut self, person: String, now: Moment) -> Transition {
        self.deny_alone(person, TAKE_OVER, "a person has taken over this conversation", now)
    }

    /// Denies by one person, also one who voted before.
    fn deny_alone(
        &mut self,
        person: String,
        channel: &str,
        reason: &str,
        now: Moment,
    ) -> Transition {
        if self.votes.iter().all(|earlier| earlier.person != person) {
            let vote = Vote {
                scope: ApprovalScope::Once,
                person: person.clone(),
                choice: Choice::Deny,
                channel: channel.to_owned(),
                reason: reason.to_owned(),
                at: now.at,
            };
            self.votes.push(vote);
        }
        let by = Decider::People(vec![person]);
        self.end(State::Denied, by, channel, reason, now.at, self.digest)
    }
}
