//! The report of an import as text.

use std::io::{self, Write};

use super::report::{CauseReport, ExampleCounts, ImportReport, QuestionCounts};
use crate::engine::thousands;
use crate::gate::page;
use crate::terminal::{Paint, accent};

/// How many causes are listed without `--all`.
const CAUSES: usize = 10;

/// How much is printed.
#[derive(Debug, Clone, Copy)]
pub struct Detail {
    /// List every cause.
    pub all: bool,
    /// How far back files were read.
    pub days: Option<u32>,
}

/// Prints the report.
pub fn print(
    out: &mut dyn Write,
    report: &ImportReport,
    detail: Detail,
    paint: Paint,
) -> io::Result<()> {
    let within = detail.days.map_or(String::new(), |days| format!(" of the last {days} days"));
    if report.calls == 0 {
        writeln!(out, "No calls found in session logs{within}.")?;
        writeln!(out, "Name log files or folders: countersign import FILE")?;
        return left_out(out, report);
    }
    let (calls, sessions) = (counted(report.calls, "call"), counted(report.sessions, "session"));
    writeln!(out, "{}", paint.strong(format!("{calls} in {sessions}{within}")))?;
    let rows: Vec<Vec<String>> = report
        .sources
        .iter()
        .map(|from| {
            let calls = counted(from.calls, "call");
            vec![format!("  {}", from.name), calls, counted(from.sessions, "session")]
        })
        .collect();
    page::table(out, &rows)?;
    left_out(out, report)?;
    figures(out, report, paint)?;
    examples(out, &report.denied, paint)?;
    causes(out, &report.causes, detail, paint)?;
    writeln!(out, "\nNothing was changed or sent. Next: countersign rollout")
}

fn figures(out: &mut dyn Write, report: &ImportReport, paint: Paint) -> io::Result<()> {
    writeln!(out, "\n{}", paint.strong("With Countersign enforcing"))?;
    let asked = &report.asked_with_answers;
    let mut rows = vec![
        row(
            "questions",
            &format!("{} ({} of 100 calls)", thousands(asked.total), asked.per_100_calls),
        ),
        row("a session", &session_words(asked)),
        row("quiet sessions", &share(asked.sessions_without, report.sessions)),
        row("longest quiet", &format!("{} in a row", counted(report.longest_quiet_calls, "call"))),
        row("denied", &thousands(report.denied.calls)),
    ];
    let without = &report.asked;
    let words = format!("{} questions if no answer were remembered", thousands(without.total));
    rows.push(row("otherwise", &words));
    if report.rejected > 0 {
        let (all, found) = (thousands(report.rejected), thousands(report.rejected_asked));
        let words = format!("{all} in the agent; Countersign would have asked about {found}");
        rows.push(row("you rejected", &words));
    }
    let tiers: Vec<String> =
        report.by_tier.iter().map(|(tier, count)| format!("{count} {tier}")).collect();
    rows.push(row("by tier", &if tiers.is_empty() { "-".to_owned() } else { tiers.join(", ") }));
    page::table(out, &rows)
}

fn causes(
    out: &mut dyn Write,
    all: &[CauseReport],
    detail: Detail,
    paint: Paint,
) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint.strong("Causes, the most frequent first"))?;
    let shown = if detail.all { all.len() } else { CAUSES };
    for cause in all.iter().take(shown) {
        let tier = paint.with(accent(cause.tier), cause.tier.label());
        let (times, code) = (thousands(cause.calls.calls), &cause.code);
        writeln!(out, "  {times} × {code} ({tier}): {}", cause.message)?;
        examples(out, &cause.calls, paint)?;
    }
    let more = all.len().saturating_sub(shown);
    if more > 0 {
        writeln!(out, "  {}", paint.faint(format!("{more} more causes: --all")))?;
    }
    Ok(())
}

fn examples(out: &mut dyn Write, calls: &ExampleCounts, paint: Paint) -> io::Result<()> {
    for example in &calls.examples {
        let line = format!("      {} × {}", thousands(example.times), example.call);
        writeln!(out, "{}", paint.faint(line))?;
    }
    Ok(())
}

fn left_out(out: &mut dyn Write, report: &ImportReport) -> io::Result<()> {
    if report.unreadable > 0 {
        writeln!(
            out,
            "  {} cannot be read and are not counted",
            counted(report.unreadable, "record")
        )?;
    }
    if report.unreadable_files > 0 {
        writeln!(out, "  {} cannot be read", counted(report.unreadable_files, "file"))?;
    }
    if report.partial {
        writeln!(
            out,
            "  There are more calls than were read; name single files to see the others."
        )?;
    }
    Ok(())
}

fn row(name: &str, words: &str) -> Vec<String> {
    vec![format!("  {name}"), words.to_owned()]
}

fn session_words(counts: &QuestionCounts) -> String {
    let (mean, p90, max) = (counts.session_mean, counts.session_p90, counts.session_max);
    format!("{mean:.2} on average, 90th percentile {p90}, most {max}")
}

fn share(part: u64, whole: u64) -> String {
    let percent = part.saturating_mul(100) / whole.max(1);
    format!("{} of {} ({percent} %)", thousands(part), thousands(whole))
}

fn counted(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", thousands(count))
}
