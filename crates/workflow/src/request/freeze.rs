//! A freeze denies every pending request; taking over denies those of a conversation.

use super::event::{Choice, Transition, Vote};
use super::scope::ApprovalScope;
use super::stop_cause::StopCause;
use super::{Decider, Request, State};
use countersign_types::time::Moment;

/// The channel of a denial by a freeze.
pub const FREEZE: &str = "freeze";
/// The channel of a denial because a person took over the conversation.
pub const TAKE_OVER: &str = "take-over";

impl Request {
    /// Denies by one person, also one who voted before.
    pub(super) fn stop(&mut self, person: String, cause: StopCause, now: Moment) -> Transition {
        let (channel, reason) = match cause {
            StopCause::Freeze => (FREEZE, format!("frozen by {person}")),
            StopCause::TakeOver => {
                (TAKE_OVER, "a person has taken over this conversation".to_owned())
            }
        };
        if self.votes.iter().all(|earlier| earlier.person != person) {
            let vote = Vote {
                scope: ApprovalScope::Once,
                person: person.clone(),
                choice: Choice::Deny,
                channel: channel.to_owned(),
                reason: reason.clone(),
                at: now.at,
            };
            self.votes.push(vote);
        }
        let by = Decider::People(vec![person]);
        self.end(State::Denied, by, channel, &reason, now.at, self.digest)
    }
}
