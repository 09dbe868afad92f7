//! The report as lines of names and numbers.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

/// What happened in a period. Numbers only.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct CrisisReport {
    pub from: Option<String>,
    pub to: Option<String>,
    /// Cards that were shown, by concern.
    pub cards_possible: u64,
    pub cards_likely: u64,
    pub cards_imminent: u64,
    /// Messages that were answered with a way to reach a person: every card has one.
    pub referrals: u64,
    /// Different sessions among them.
    pub referred_sessions: u64,
    /// Cards by the country of their helplines; empty is unknown.
    pub cards_by_country: BTreeMap<String, u64>,
    /// Sessions that entered a crisis, by the highest level at that time.
    pub crises: u64,
    pub crises_by_level: BTreeMap<u8, u64>,
    pub crises_resolved: u64,
    /// Seconds from the begin of a crisis until a person resolved it.
    pub resolve_seconds_median: Option<u64>,
    pub resolve_seconds_p90: Option<u64>,
    /// Crises that a person took over, and the seconds from their begin until then.
    pub takeovers: u64,
    pub takeover_seconds_median: Option<u64>,
    pub takeover_seconds_p90: Option<u64>,
    /// Messages to people about a crisis, and the different channels that they went to.
    pub pages_sent: u64,
    pub pages_failed: u64,
    pub channels_on_duty: usize,
    /// Calls in a crisis that waited for a person, and how they ended.
    pub held: u64,
    pub approved: u64,
    pub denied: u64,
    pub unanswered: u64,
    pub cancelled: u64,
    /// Seconds until a person answered.
    pub answer_seconds_median: Option<u64>,
    pub answer_seconds_p90: Option<u64>,
    /// Different people who answered a call, took over or resolved a crisis.
    pub people: usize,
}

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
