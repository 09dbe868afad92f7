//! Labels for states, tiers and decisions.

pub use countersign_text::humanize::{relative_time, thousands};
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{ApprovalScope, Decider, EscalationLevel, Request, State};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// A shape for each tier, so that color is not needed to tell them apart.
pub fn shape(tier: Tier) -> &'static str {
    match tier {
        Tier::Safe => "✓",
        Tier::Low => "○",
        Tier::Medium => "◆",
        Tier::High => "▲",
        Tier::Critical => "⬢",
    }
}

/// Who a request was escalated to.
pub fn escalation_step(level: EscalationLevel) -> &'static str {
    match level {
        EscalationLevel::First => "the first channel",
        EscalationLevel::Next => "the next channel",
        EscalationLevel::Administrators => "the administrators",
        EscalationLevel::Emergency => "everyone, as an emergency",
    }
}

/// "approved for this session by ana (web), 3 min ago".
pub fn decision_text(request: &Request, edited: bool, now: Timestamp) -> Option<String> {
    let decision = request.decision.as_ref()?;
    let when = relative_time(decision.at, now);
    let channel = if decision.channel.is_empty() {
        String::new()
    } else {
        format!(" ({})", decision.channel)
    };
    let scope = match request.approval_scope() {
        ApprovalScope::Once => "",
        ApprovalScope::Session => " for this session",
        ApprovalScope::Repository => " for this repository",
    };
    Some(match (&decision.by, decision.state) {
        (Decider::People(people), state) => {
            let edited = if edited { " as edited" } else { "" };
            format!("{}{edited}{scope} by {}{channel}, {when}", state.label(), people.join(" and "))
        }
        (Decider::Deadline, _) => format!("expired without an answer, {when}"),
        (Decider::Requester, _) => format!("cancelled by the agent, {when}"),
        (Decider::Policy, state) => format!("{} by the rules, {when}", state.label()),
        (Decider::Grant(_), state) => format!("{} by a grant, {when}", state.label()),
        (Decider::Judge(model), State::Approved) => {
            format!("released by the model judge {}, {when}", sanitize_within(model, 80).text)
        }
        (Decider::Judge(model), state) => {
            let model = sanitize_within(model, 80).text;
            format!("{} by the model judge {model}, {when}", state.label())
        }
    })
}

/// The label of a state.
pub fn state_label(state: State) -> &'static str {
    if state == State::Pending { "pending" } else { state.label() }
}

/// Percent-encodes text for a URL.
pub fn percent_encode(text: &str) -> String {
    const RESERVED: AsciiSet =
        NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
    utf8_percent_encode(text, &RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_percent_encoded() {
        assert_eq!(percent_encode("/?r=1&x=é"), "/%3Fr%3D1%26x%3D%C3%A9");
    }
}
