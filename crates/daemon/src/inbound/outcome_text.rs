//! What a person is told about their reply.

use countersign_workflow::request::{State, Transition};

/// What the reply changed.
pub fn describe(change: &Transition) -> String {
    match change {
        Transition::Ended(decision) => match decision.state {
            State::Approved => "Approved. The agent may do this once.".to_owned(),
            State::Denied => "Denied. The agent gets this decision.".to_owned(),
            State::Pending | State::Expired | State::Cancelled => {
                "The request has ended.".to_owned()
            }
        },
        Transition::ApprovalCounted { approvals, needed } => {
            format!("Your approval counts: {approvals} of {needed}.")
        }
        Transition::DenialCounted { objections, needed } => {
            format!("Your denial counts: {objections} of {needed}.")
        }
        Transition::Nothing | Transition::Escalated(_) => "Nothing changed.".to_owned(),
    }
}
