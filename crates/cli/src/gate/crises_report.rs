//! `countersign crises report`: counts from the ledger, without any content.

mod rows;

use std::collections::{BTreeSet, HashMap};
use std::process::ExitCode;

use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::time::{Millis, Timestamp};

use rows::{CrisisReport, csv, rows};

use super::args_people::ReportArgs;
use super::ledger_read::EntrySource;
use super::output;
use crate::engine::Value;
use crate::failure::Failure;

/// A day, for a report that ends with one.
const DAY: Millis = Millis::from_seconds(86_400);

/// Adds up entries in their order.
#[derive(Default)]
struct Tally {
    report: CrisisReport,
    period: (Option<Timestamp>, Option<Timestamp>),
    begun: HashMap<(String, String), i64>,
    asked: HashMap<String, i64>,
    /// Crises that are taken over: the same person takes over again with each message.
    taken: BTreeSet<(String, String)>,
    referred: BTreeSet<(String, String)>,
    channels: BTreeSet<String>,
    taken_after: Vec<u64>,
    resolved_after: Vec<u64>,
    answered_after: Vec<u64>,
    people: BTreeSet<String>,
}

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let mut tally = Tally {
        period: (moment(args.from.as_deref(), false)?, moment(args.to.as_deref(), true)?),
        ..Tally::default()
    };
    tally.report.from.clone_from(&args.from);
    tally.report.to.clone_from(&args.to);
    let (file, store) = (args.file.as_deref(), args.store.as_deref());
    EntrySource::open(file, store, &args.person)?.each(0, |index, text| {
        let entry = Entry::decode(text.as_bytes());
        let entry = entry.map_err(|error| Failure::at(&format!("entry {index}"), error))?;
        tally.add(&entry);
        Ok(())
    })?;
    let report = tally.finish();
    if args.person.json {
        return output::json(&report);
    }
    let rows = rows(&report);
    if args.csv {
        return output::say(|out, _| Ok(csv(out, &rows)?));
    }
    output::say(|out, paint| {
        let from = report.from.as_deref().unwrap_or("the beginning");
        let to = report.to.as_deref().unwrap_or("now");
        writeln!(out, "{}", paint.strong(format!("Crises from {from} to {to}")))?;
        for (name, value) in &rows {
            writeln!(out, "  {:<34} {value}", name.replace('_', " "))?;
        }
        Ok(())
    })
}

/// A date or a time; a date as the end of a period includes that day.
fn moment(text: Option<&str>, is_end: bool) -> Result<Option<Timestamp>, Failure> {
    let Some(text) = text else { return Ok(None) };
    if let Some(day) = Timestamp::parse(&format!("{text}T00:00:00Z")) {
        return Ok(Some(if is_end { day.plus(DAY) } else { day }));
    }
    Timestamp::parse(text).map(Some).ok_or_else(|| {
        Failure::Input(format!(
            "`{text}` is not a date such as 2026-11-17 or a time such as 2026-11-17T08:00:00Z"
        ))
    })
}

impl Tally {
    fn add(&mut self, entry: &Entry<'_>) {
        let (from, to) = self.period;
        let within =
            from.is_none_or(|from| entry.at >= from.0) && to.is_none_or(|to| entry.at < to.0);
        match entry.kind {
            EntryKind::Screen if within => self.card(entry),
            EntryKind::CrisisBegin => self.begin(entry, within),
            EntryKind::CrisisTakeover => self.take_over(entry, within),
            EntryKind::CrisisLift => {
                let since = self.begun.remove(&session(entry));
                self.taken.remove(&session(entry));
                if within {
                    self.report.crises_resolved += 1;
                    self.resolved_after.extend(since.map(|since| seconds(since, entry.at)));
                    self.people.extend(entry.person.as_deref().map(str::to_owned));
                }
            }
            EntryKind::Notified | EntryKind::NotifyFailed if within => self.page(entry),
            EntryKind::Ask if fact(entry, "crisis").and_then(Value::as_bool) == Some(true) => {
                if let Some(request) = entry.request.as_deref() {
                    self.asked.insert(request.to_owned(), entry.at);
                }
                self.report.held += u64::from(within);
            }
            EntryKind::Approve | EntryKind::Deny | EntryKind::Expire | EntryKind::Cancel => {
                self.ended(entry, within);
            }
            _ => {}
        }
    }

    /// A raised level is written again; only the first entry begins the crisis.
    fn begin(&mut self, entry: &Entry<'_>, within: bool) {
        if self.begun.contains_key(&session(entry)) {
            return;
        }
        self.begun.insert(session(entry), entry.at);
        if within {
            self.report.crises += 1;
            *self.report.crises_by_level.entry(level(entry)).or_default() += 1;
        }
    }

    fn take_over(&mut self, entry: &Entry<'_>, within: bool) {
        let is_new = self.taken.insert(session(entry));
        if !within {
            return;
        }
        self.people.extend(entry.person.as_deref().map(str::to_owned));
        if is_new {
            self.report.takeovers += 1;
            let since = self.begun.get(&session(entry));
            self.taken_after.extend(since.map(|since| seconds(*since, entry.at)));
        }
    }

    /// A message to people, about a session in a crisis or about one of its calls.
    fn page(&mut self, entry: &Entry<'_>) {
        let of_call = entry.request.as_deref().is_some_and(|id| self.asked.contains_key(id));
        let of_session = fact(entry, "what").and_then(Value::as_str) == Some("crisis page");
        if !of_call && !of_session {
            return;
        }
        if entry.kind == EntryKind::NotifyFailed {
            self.report.pages_failed += 1;
            return;
        }
        self.report.pages_sent += 1;
        let channel = fact(entry, "channel").and_then(Value::as_str);
        self.channels.extend(channel.map(str::to_owned));
    }

    fn card(&mut self, entry: &Entry<'_>) {
        let report = &mut self.report;
        match fact(entry, "concern").and_then(Value::as_str) {
            Some("likely") => report.cards_likely += 1,
            Some("possible") => report.cards_possible += 1,
            _ => return,
        }
        report.referrals += 1;
        self.referred.insert(session(entry));
        let imminent = fact(entry, "imminent").and_then(Value::as_bool) == Some(true);
        report.cards_imminent += u64::from(imminent);
        let country = fact(entry, "country").and_then(Value::as_str).unwrap_or_default();
        *report.cards_by_country.entry(country.to_owned()).or_default() += 1;
    }

    fn ended(&mut self, entry: &Entry<'_>, within: bool) {
        let Some(request) = entry.request.as_deref() else { return };
        let Some(asked) = self.asked.remove(request) else { return };
        if !within {
            return;
        }
        let report = &mut self.report;
        match entry.kind {
            EntryKind::Approve => report.approved += 1,
            EntryKind::Deny => report.denied += 1,
            EntryKind::Expire => report.unanswered += 1,
            _ => report.cancelled += 1,
        }
        if let Some(person) = entry.person.as_deref() {
            self.answered_after.push(seconds(asked, entry.at));
            self.people.insert(person.to_owned());
        }
    }

    fn finish(mut self) -> CrisisReport {
        let report = &mut self.report;
        (report.resolve_seconds_median, report.resolve_seconds_p90) =
            quantiles(&mut self.resolved_after);
        (report.answer_seconds_median, report.answer_seconds_p90) =
            quantiles(&mut self.answered_after);
        (report.takeover_seconds_median, report.takeover_seconds_p90) =
            quantiles(&mut self.taken_after);
        report.referred_sessions = self.referred.len() as u64;
        report.channels_on_duty = self.channels.len();
        report.people = self.people.len();
        self.report
    }
}

/// The agent and the session of an entry.
fn session(entry: &Entry<'_>) -> (String, String) {
    let text =
        |name: &Option<std::borrow::Cow<'_, str>>| name.as_deref().unwrap_or_default().to_owned();
    (text(&entry.agent), text(&entry.session))
}

fn fact<'e>(entry: &'e Entry<'_>, name: &str) -> Option<&'e Value<'e>> {
    entry.facts.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

fn level(entry: &Entry<'_>) -> u8 {
    fact(entry, "level").and_then(Value::as_number).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn seconds(from: i64, to: i64) -> u64 {
    Timestamp(from).until(Timestamp(to)).0 / 1000
}

/// The median and the 90th percentile.
fn quantiles(values: &mut [u64]) -> (Option<u64>, Option<u64>) {
    values.sort_unstable();
    let at = |part: usize| values.get(values.len().saturating_sub(1) * part / 100).copied();
    (at(50), at(90))
}

#[cfg(test)]
mod tests;
