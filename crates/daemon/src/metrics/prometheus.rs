//! The counters as Prometheus reads them (exposition format 0.0.4).

use std::fmt::Write as _;
use std::time::Duration;

use countersign_types::time::Timestamp;

use super::counts::{ANSWERED, Counts, MODEL, WRITTEN};

/// What is read at the moment of asking.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gauges {
    /// Requests that wait for a person.
    pub open: usize,
    /// Callers that wait for an end.
    pub waiting: usize,
    /// Announcements that are not done.
    pub outbox: usize,
    /// Whether the newest commit succeeded.
    pub healthy: bool,
    /// How far the machine's clock stands behind, in milliseconds.
    pub behind: i64,
    /// Whether approvals are stopped, because the store is not the one that was signed last.
    pub halted: bool,
    /// The stage of a freeze: 2 while every call is refused, 1 while grants are suspended.
    pub freeze: u8,
    /// Whether risky calls wait for a person: the mode is `enforce`.
    pub enforcing: bool,
    /// Entries of the ledger.
    pub entries: u64,
    /// The agents' gates.
    pub gates: GateCounts,
}

/// The results of the tests of the agents' gates, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GateCounts {
    /// Gates with an active alarm.
    pub unprotected: usize,
    /// Gates that refused the forbidden call.
    pub protected: usize,
    /// The time of the last test.
    pub last: Option<Timestamp>,
    /// Whether the last test failed.
    pub failed: bool,
}

/// How long the guard model and the model judge took, if they were asked.
fn models(counts: &Counts, out: &mut String) {
    if !counts.guards.is_empty() {
        let _ = writeln!(out, "# TYPE countersign_guard_seconds histogram");
    }
    for (family, times) in &counts.guards {
        let label = format!("family=\"{family}\"");
        times.write_with("countersign_guard_seconds", &label, &MODEL, out);
    }
    if !counts.judge_times.is_empty() {
        let _ = writeln!(out, "# TYPE countersign_judge_seconds histogram");
        counts.judge_times.write("countersign_judge_seconds", &MODEL, out);
    }
}

/// The text that Prometheus reads.
pub fn text(counts: &Counts, gauges: Gauges) -> String {
    let mut out = String::with_capacity(4096);
    let mut family = "";
    for ((name, labels), count) in counts.all() {
        if name != family {
            family = name;
            let _ = writeln!(out, "# TYPE {name} counter");
        }
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(out, "{name}{labels} {count}");
    }
    let _ = writeln!(out, "# TYPE countersign_agent_calls_total counter");
    for (agent, count) in &counts.agents {
        let agent = plain(agent);
        let _ = writeln!(out, "countersign_agent_calls_total{{agent=\"{agent}\"}} {count}");
    }
    let _ = writeln!(out, "# TYPE countersign_answer_seconds histogram");
    counts.answered.write("countersign_answer_seconds", &ANSWERED, &mut out);
    models(counts, &mut out);
    let _ = writeln!(out, "# TYPE countersign_store_write_seconds histogram");
    counts.written.write("countersign_store_write_seconds", &WRITTEN, &mut out);
    // Never is long ago.
    let proved = gauges.gates.last.map_or(0, Timestamp::seconds);
    let behind = Duration::from_millis(u64::try_from(gauges.behind).unwrap_or(0));
    for (name, value) in [
        ("countersign_open_requests", gauges.open.to_string()),
        ("countersign_waiting_callers", gauges.waiting.to_string()),
        ("countersign_outbox", gauges.outbox.to_string()),
        ("countersign_store_healthy", u8::from(gauges.healthy).to_string()),
        ("countersign_clock_behind_seconds", behind.as_secs_f64().to_string()),
        ("countersign_approvals_halted", u8::from(gauges.halted).to_string()),
        ("countersign_freeze_stage", gauges.freeze.to_string()),
        ("countersign_mode_enforce", u8::from(gauges.enforcing).to_string()),
        ("countersign_ledger_entries", gauges.entries.to_string()),
        ("countersign_gates_unprotected", gauges.gates.unprotected.to_string()),
        ("countersign_gates_protected", gauges.gates.protected.to_string()),
        ("countersign_gates_untested", u8::from(gauges.gates.failed).to_string()),
        ("countersign_gates_tested_timestamp_seconds", proved.to_string()),
    ] {
        let _ = writeln!(out, "# TYPE {name} gauge\n{name} {value}");
    }
    out
}

/// A name that cannot break out of its label.
pub fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '@');
    name.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect()
}
