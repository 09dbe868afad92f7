//! Times, amounts and states as people say them.

use std::fmt::Write as _;

use countersign_core::request::{Decider, Decision, Rung, State};
use countersign_core::tier::Tier;
use countersign_core::time::Timestamp;

/// "3 min ago", "in 40 s".
pub fn apart(time: Timestamp, now: Timestamp) -> String {
    let seconds = time.0.saturating_sub(now.0) / 1000;
    let span = length(seconds.unsigned_abs());
    match seconds {
        0 => "now".to_owned(),
        1.. => format!("in {span}"),
        _ => format!("{span} ago"),
    }
}

/// "40 s", "3 min".
pub fn length(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A number with its thousands apart: 3,120.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A shape for each tier, so that nobody has to see colours.
pub fn shape(tier: Tier) -> &'static str {
    match tier {
        Tier::Safe => "✓",
        Tier::Low => "○",
        Tier::Medium => "◆",
        Tier::High => "▲",
        Tier::Critical => "⬢",
    }
}

/// Who is asked by now.
pub fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::First => "first channel",
        Rung::Next => "next channel as well",
        Rung::Administrators => "administrators as well",
        Rung::Emergency => "everybody, as an emergency",
    }
}

/// "approved by ana in web, 3 min ago".
pub fn ended(decision: &Decision, now: Timestamp) -> String {
    let when = apart(decision.at, now);
    let channel = if decision.channel.is_empty() {
        String::new()
    } else {
        format!(" ({})", decision.channel)
    };
    match (&decision.by, decision.state) {
        (Decider::People(people), state) => {
            format!("{} by {}{channel}, {when}", state.label(), people.join(" and "))
        }
        (Decider::Deadline, _) => format!("denied: nobody answered in time, {when}"),
        (Decider::Requester, _) => format!("taken back by the agent, {when}"),
        (Decider::Policy, state) => format!("{} by the rules, {when}", state.label()),
        (Decider::Grant(_), state) => format!("{} by a grant, {when}", state.label()),
    }
}

/// The word of a state.
pub fn state(state: State) -> &'static str {
    if state == State::Pending { "waits" } else { state.label() }
}

/// Text for the query of an address.
pub fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_addresses() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(encoded("/?r=1&x=é"), "/%3Fr%3D1%26x%3D%C3%A9");
        assert_eq!(apart(Timestamp(40_000), Timestamp(0)), "in 40 s");
        assert_eq!(apart(Timestamp(0), Timestamp(200_000)), "3 min ago");
    }
}
