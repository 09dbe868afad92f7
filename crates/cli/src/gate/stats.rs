//! `countersign stats`: how often people are asked, how they decide, and how long it takes.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::Value;

use super::credential::PersonSession;
use super::{args, output, page};
use crate::engine::duration;
use crate::failure::Failure;
use crate::terminal::Paint;

/// Runs `countersign stats`.
pub fn stats(args: &args::Stats) -> Result<ExitCode, Failure> {
    let stats = PersonSession::open(&args.person)?.stats()?;
    if args.person.json {
        return output::json(&stats);
    }
    output::say(|out, paint| Ok(print(out, &stats, paint)?))
}

fn print(out: &mut dyn Write, stats: &Value, paint: Paint) -> io::Result<()> {
    let day = stats.get("last_24_hours").unwrap_or(&Value::Null);
    let part = |name: &str| day.get(name).unwrap_or(&Value::Null);
    writeln!(out, "{}", paint.strong(format!("{} waiting", number(stats.get("open")))))?;
    writeln!(out, "\n{}", paint.strong("The last 24 hours"))?;
    let asked: u64 = counts(part("by_state")).iter().map(|(_, count)| count).sum();
    let more = if part("partial").as_bool() == Some(true) { " and more" } else { "" };
    let mut rows = vec![line("questions", format!("{asked}{more}"))];
    for (name, member) in [("so far", "by_state"), ("tiers", "by_tier"), ("agents", "by_agent")] {
        let words = in_words(part(member));
        if !words.is_empty() {
            rows.push(line(name, words));
        }
    }
    if let (Some(half), Some(most)) =
        (seconds(part("answer_ms_median")), seconds(part("answer_ms_p90")))
    {
        let words = format!("median {half}, 90th percentile {most}");
        rows.push(line("answered", format!("after {words}")));
    }
    page::table(out, &rows)?;
    let calls = stats.get("since_start").and_then(|start| start.get("calls"));
    let calls = calls.unwrap_or(&Value::Null);
    writeln!(out, "\n{}", paint.strong("Since the daemon started"))?;
    let of = |name: &str| number(calls.get(name));
    let share = calls.get("questions_per_100").and_then(Value::as_str).unwrap_or("-");
    let (passes, asks, refusals) = (of("passes"), of("asks"), of("refusals"));
    let words = format!("{passes} passed, {asks} asked, {refusals} rejected");
    let share = format!("{} of 100 calls", page::safe(share, 12));
    page::table(out, &[line("calls", words), line("asked", share)])
}

fn line(name: &str, words: String) -> Vec<String> {
    vec![format!("  {name}"), words]
}

fn number(value: Option<&Value>) -> String {
    value.and_then(Value::as_u64).map_or_else(|| "-".to_owned(), |number| number.to_string())
}

fn seconds(value: &Value) -> Option<String> {
    value.as_u64().map(|millis| duration(millis / 1000))
}

/// Counts by name, the largest first.
fn counts(value: &Value) -> Vec<(String, u64)> {
    let members = value.as_object().into_iter().flatten();
    let mut counts: Vec<(String, u64)> =
        members.map(|(name, count)| (page::safe(name, 60), count.as_u64().unwrap_or(0))).collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts
}

fn in_words(value: &Value) -> String {
    let words: Vec<String> =
        counts(value).iter().map(|(name, count)| format!("{count} {name}")).collect();
    words.join(", ")
}
