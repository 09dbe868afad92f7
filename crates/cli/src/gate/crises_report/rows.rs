//! The report as lines of names and numbers.

use std::io::{self, Write};

use super::CrisisReport;

/// The report as names and numbers.
pub(super) fn rows(report: &CrisisReport) -> Vec<(String, String)> {
    let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let mut rows = vec![
        ("cards_possible".to_owned(), report.cards_possible.to_string()),
        ("cards_likely".to_owned(), report.cards_likely.to_string()),
        ("cards_imminent".to_owned(), report.cards_imminent.to_string()),
        ("referrals".to_owned(), report.referrals.to_string()),
        ("referred_sessions".to_owned(), report.referred_sessions.to_string()),
    ];
    for (country, count) in &report.cards_by_country {
        let country = if country.is_empty() { "unknown" } else { country };
        rows.push((format!("cards_country_{country}"), count.to_string()));
    }
    rows.push(("crises".to_owned(), report.crises.to_string()));
    for (level, count) in &report.crises_by_level {
        rows.push((format!("crises_level_{level}"), count.to_string()));
    }
    let rest = [
        ("crises_resolved", report.crises_resolved.to_string()),
        ("resolve_seconds_median", number(report.resolve_seconds_median)),
        ("resolve_seconds_p90", number(report.resolve_seconds_p90)),
        ("takeovers", report.takeovers.to_string()),
        ("takeover_seconds_median", number(report.takeover_seconds_median)),
        ("takeover_seconds_p90", number(report.takeover_seconds_p90)),
        ("pages_sent", report.pages_sent.to_string()),
        ("pages_failed", report.pages_failed.to_string()),
        ("channels_on_duty", report.channels_on_duty.to_string()),
        ("held", report.held.to_string()),
        ("approved", report.approved.to_string()),
        ("denied", report.denied.to_string()),
        ("unanswered", report.unanswered.to_string()),
        ("cancelled", report.cancelled.to_string()),
        ("answer_seconds_median", number(report.answer_seconds_median)),
        ("answer_seconds_p90", number(report.answer_seconds_p90)),
        ("people", report.people.to_string()),
    ];
    rows.extend(rest.map(|(name, value)| (name.to_owned(), value)));
    rows
}

/// The names contain only letters, digits and underscores, and the values only digits.
pub(super) fn csv(out: &mut dyn Write, rows: &[(String, String)]) -> io::Result<()> {
    writeln!(out, "measure,value")?;
    rows.iter().try_for_each(|(name, value)| writeln!(out, "{name},{value}"))
}
