//! The rollout as text.

use std::io::{self, Write};

use super::report::RolloutReport;
use crate::engine::thousands;
use crate::gate::page;
use crate::terminal::Paint;

/// Prints the phases, and how to switch.
pub fn print(
    out: &mut dyn Write,
    report: &RolloutReport,
    days: Option<u32>,
    paint: Paint,
) -> io::Result<()> {
    let within = days.map_or(String::new(), |days| format!(" of the last {days} days"));
    let (calls, sessions) = (thousands(report.calls), thousands(report.sessions));
    let figures = format!("{calls} logged calls in {sessions} sessions{within}");
    writeln!(out, "{}", paint.strong("Rollout phases"))?;
    let mut rows = Vec::new();
    for phase in &report.phases {
        let mark = if phase.current { "→" } else { " " };
        let asked = &phase.asked;
        let questions = format!("{} questions", thousands(asked.total));
        let mean = format!("{:.2} a session", asked.session_mean);
        rows.push(vec![
            format!("{mark} {}", phase.mode),
            questions,
            mean,
            phase.message.to_owned(),
        ]);
    }
    page::table(out, &rows)?;
    writeln!(out, "{}", paint.faint(format!("The questions are those of {figures}.")))?;
    if report.not_comparable > 0 {
        let calls = thousands(report.not_comparable);
        let why = "policy rules need the agent or the time, which logs do not say";
        writeln!(out, "Not counted: {calls} calls; {why}.")?;
    }
    if report.rejected > 0 {
        let held: Vec<String> = report
            .phases
            .iter()
            .map(|phase| format!("{} {}", phase.mode, thousands(phase.rejected_held)))
            .collect();
        let all = thousands(report.rejected);
        writeln!(out, "Of {all} calls that you rejected in the agent, held: {}.", held.join(", "))?;
    }
    switch(out, report, paint)
}

/// How to get to the next phase, and back.
fn switch(out: &mut dyn Write, report: &RolloutReport, paint: Paint) -> io::Result<()> {
    let place = if report.config_exists {
        report.config.clone()
    } else {
        format!("{} (does not exist yet)", report.config)
    };
    writeln!(out, "\n{} {place}", paint.strong("Configuration:"))?;
    match report.next {
        Some(next) => {
            writeln!(out, "\n{}", paint.strong(format!("Next phase: {next}")))?;
            writeln!(out, "  1. Set mode = \"{next}\" in the configuration, at its top.")?;
            writeln!(out, "  2. countersign config check")?;
            writeln!(
                out,
                "  3. Restart the daemon, or send it SIGHUP. A stricter mode holds at once."
            )?;
        }
        None => writeln!(out, "\nThis is the last phase: every risky call waits for a person.")?,
    }
    writeln!(
        out,
        "\nBack to a weaker mode: set it, restart, and confirm it with your passphrase:"
    )?;
    writeln!(out, "  countersign config confirm-mode MODE")
}
