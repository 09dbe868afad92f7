//! The requests that the daemon recorded, by their stored scores.

use countersign_client::{Filter, RequestRecord, RequestStatus};

use super::compare::{ComparedCall, RecordedDecision, ReplayReport, ReplayedCall};
use super::observed_calls;
use super::setting::{ReplayOutcome, ReplaySetting};
use super::stored_call;
use crate::engine::Tier;
use crate::failure::Failure;
use crate::gate::args::PersonArgs;
use crate::gate::credential::PersonSession;
use crate::gate::page;

/// How many requests are read at most, and how many at once.
const MAX_REQUESTS: u64 = 50_000;
const PAGE: u32 = 500;
/// The same with cards, which can be 64 KiB each.
const PAGE_WITH_CARDS: u32 = 50;

/// Compares two settings on the newest requests, and on the calls that were only observed.
pub fn compare(
    person: &PersonArgs,
    now: &ReplaySetting,
    then: &ReplaySetting,
) -> Result<ReplayReport, Failure> {
    let session = PersonSession::open(person)?;
    let mut report = ReplayReport::new(now, then);
    let mut before = None;
    let cards = now.has_rules() || then.has_rules();
    let limit = Some(if cards { PAGE_WITH_CARDS } else { PAGE });
    loop {
        let filter = Filter { before, limit, cards, ..Filter::default() };
        let page = session.list(&filter)?;
        for request in page.requests.iter().filter(|request| request.drill.is_none()) {
            add(&mut report, request, now, then);
        }
        before = page.next;
        report.partial = before.is_some() && report.calls >= MAX_REQUESTS;
        if before.is_none() || report.partial {
            break;
        }
    }
    observed_calls::add_all(&mut report, &session, now, then)?;
    Ok(report)
}

fn add(
    report: &mut ReplayReport,
    request: &RequestRecord,
    now: &ReplaySetting,
    then: &ReplaySetting,
) {
    // A tier or a confidence that cannot be read asks.
    let tier = Tier::parse(&request.tier).unwrap_or(Tier::Critical);
    let confidence = request.confidence.map_or(0, percent);
    let score = (tier, confidence, request.crisis);
    let may_pass = then.may_pass(tier, confidence, request.crisis);
    let compared = ComparedCall {
        now: outcome(now, request, score),
        then: outcome(then, request, score),
        may_pass,
        decision: decision(request),
    };
    report.add(compared, || ReplayedCall {
        place: page::safe(request.id.as_deref().unwrap_or("-"), 60),
        tier,
        call: page::brief(request),
    });
}

/// The stored score decides, and rules where there are some.
fn outcome(
    setting: &ReplaySetting,
    request: &RequestRecord,
    (tier, confidence, crisis): (Tier, u8, bool),
) -> Option<ReplayOutcome> {
    if setting.has_rules() {
        stored_call::outcome(setting, request)
    } else {
        Some(setting.outcome_of_score(tier, confidence, crisis))
    }
}

fn decision(request: &RequestRecord) -> RecordedDecision {
    let by_people = request.decision.as_ref().is_some_and(|made| made.by.kind == "people");
    match request.state {
        RequestStatus::Approved if by_people => RecordedDecision::Approved,
        RequestStatus::Denied if by_people => RecordedDecision::Denied,
        _ => RecordedDecision::None,
    }
}

/// A share in percent, rounded to the nearest.
pub(super) fn percent(share: f64) -> u8 {
    (0..=100_u8).rev().find(|percent| f64::from(*percent) <= share * 100.0 + 0.5).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_in_percent() {
        assert_eq!([0.0, 0.794, 0.8, 1.0, 7.0].map(percent), [0, 79, 80, 100, 100]);
        assert_eq!(percent(f64::NAN), 0);
    }
}
