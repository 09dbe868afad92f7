//! The calls that the daemon only observed. The ledger has their tier; no person answered.

use serde_json::Value;

use super::compare::{ComparedCall, RecordedDecision, ReplayReport, ReplayedCall};
use super::setting::{ReplayOutcome, ReplaySetting};
use crate::engine::Tier;
use crate::failure::Failure;
use crate::gate::credential::PersonSession;
use crate::gate::page;

/// How many of the newest entries of the ledger are read, and how many at once.
const MAX_ENTRIES: u64 = 200_000;
const PAGE: u32 = 1_000;

/// A call that passed, and that would have asked.
#[derive(Debug, PartialEq, Eq)]
struct ObservedCall {
    tier: Tier,
    confidence: u8,
    tool: String,
    agent: String,
}

/// Adds the calls that were only observed.
pub fn add_all(
    report: &mut ReplayReport,
    session: &PersonSession,
    now: &ReplaySetting,
    then: &ReplaySetting,
) -> Result<(), Failure> {
    let size = session.entries(0, 1)?.size;
    let mut next = size.saturating_sub(MAX_ENTRIES);
    report.partial |= next > 0;
    while next < size {
        let page = session.entries(next, PAGE)?;
        if page.entries.is_empty() {
            break;
        }
        for (index, text) in (next..).zip(&page.entries) {
            if let Some(call) = ObservedCall::read(text) {
                report.observed += 1;
                add(report, index, &call, now, then);
            }
        }
        next += page.entries.len() as u64;
    }
    Ok(())
}

fn add(
    report: &mut ReplayReport,
    index: u64,
    call: &ObservedCall,
    now: &ReplaySetting,
    then: &ReplaySetting,
) {
    let (now, then) = (call.outcome(now), call.outcome(then));
    let compared = ComparedCall { now, then, may_pass: false, decision: RecordedDecision::None };
    report.add(compared, || ReplayedCall {
        place: format!("entry {index}"),
        tier: call.tier,
        call: format!("{} ({})", page::safe(&call.tool, 60), page::safe(&call.agent, 60)),
    });
}

impl ObservedCall {
    /// From an entry of the ledger; none if it is about something else.
    fn read(entry: &str) -> Option<ObservedCall> {
        let entry: Value = serde_json::from_str(entry).ok()?;
        let facts = entry.get("facts").filter(|_| text(&entry, "kind") == "pass")?;
        if facts.get("would_ask").and_then(Value::as_bool) != Some(true) {
            return None;
        }
        // A tier or a confidence that cannot be read asks.
        let confidence = facts.get("confidence").and_then(Value::as_u64);
        Some(ObservedCall {
            tier: Tier::parse(&text(facts, "tier")).unwrap_or(Tier::Critical),
            confidence: confidence.and_then(|percent| percent.try_into().ok()).unwrap_or(0),
            tool: text(facts, "tool"),
            agent: text(&entry, "agent"),
        })
    }

    /// The score decides. Rules see more than the ledger has.
    fn outcome(&self, setting: &ReplaySetting) -> Option<ReplayOutcome> {
        let by_score = || setting.outcome_of_score(self.tier, self.confidence, false);
        (!setting.has_rules()).then(by_score)
    }
}

fn text(value: &Value, member: &str) -> String {
    value.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_would_have_asked_are_observed_calls() {
        let entry = |kind: &str, facts: &str| {
            ObservedCall::read(&format!(r#"{{"agent":"ci","facts":{facts},"kind":"{kind}"}}"#))
        };
        let asked = r#"{"confidence":70,"tier":"LOW","tool":"Bash","would_ask":true}"#;
        let call = entry("pass", asked).unwrap();
        assert_eq!((call.tier, call.confidence, &*call.tool), (Tier::Low, 70, "Bash"));
        assert_eq!(entry("deny", asked), None);
        assert_eq!(entry("pass", r#"{"tier":"LOW","tool":"Bash"}"#), None);
        assert_eq!(ObservedCall::read("{}"), None);
        // An entry without a readable score asks.
        let call = entry("pass", r#"{"tier":"?","would_ask":true}"#).unwrap();
        assert_eq!((call.tier, call.confidence), (Tier::Critical, 0));
    }
}
