//! Counts of what the daemon does, and the text in which Prometheus reads them.
//!
//! Every set of labels is bounded: names that come from outside are counted up to a number of
//! different ones, and all others together as `other`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use countersign_risk::route::Route;
use countersign_store::StoredRequest;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::State;

use crate::gate::Rejection;
use crate::otlp::{Call, Spans};
use crate::proof;

/// Different names for one label.
const NAMES: usize = 50;
/// Hours that are remembered one by one.
const HOURS: usize = 24;
const HOUR: i64 = 3_600_000;
const BOUNDS: usize = 9;
/// Upper bounds of answer times, in seconds.
const ANSWERED: [f64; BOUNDS] = [1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];
/// Upper bounds of writes, in seconds.
const WRITTEN: [f64; BOUNDS] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 2.0];

/// All counts, and where spans go.
#[derive(Debug, Default)]
pub struct Metrics {
    counts: Mutex<Counts>,
    spans: OnceLock<Spans>,
}

#[derive(Debug, Default)]
struct Counts {
    /// By name of the family and its labels.
    totals: BTreeMap<(&'static str, String), u64>,
    /// What is counted with every call, by labels that are written only when they are read.
    quick: Vec<(Quick, u64)>,
    agents: BTreeMap<String, u64>,
    answered: Histogram,
    written: Histogram,
    hours: Vec<Hour>,
}

/// What is counted with every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quick {
    /// A call: its tier, and where it went.
    Call(Tier, &'static str),
    /// An answer: its status, and at which door.
    Answer(u16, &'static str),
}

impl Quick {
    fn named(self) -> (&'static str, String) {
        match self {
            Quick::Call(tier, route) => {
                let labels = format!("route=\"{route}\",tier=\"{}\"", tier.label());
                ("countersign_calls_total", labels)
            }
            Quick::Answer(status, door) => {
                let labels = format!("door=\"{door}\",status=\"{status}\"");
                ("countersign_http_answers_total", labels)
            }
        }
    }
}

/// What happened in one hour since 1970.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hour {
    number: i64,
    /// Calls that nobody was asked about.
    pub passes: u64,
    /// Calls that a person was asked about.
    pub asks: u64,
    /// Calls that were refused at once.
    pub refusals: u64,
}

#[derive(Debug, Default)]
struct Histogram {
    below: [u64; BOUNDS],
    count: u64,
    seconds: f64,
}

impl Histogram {
    fn add(&mut self, bounds: &[f64; BOUNDS], seconds: f64) {
        for (below, bound) in self.below.iter_mut().zip(bounds) {
            *below += u64::from(seconds <= *bound);
        }
        self.count += 1;
        self.seconds += seconds;
    }

    fn write(&self, name: &str, bounds: &[f64; BOUNDS], out: &mut String) {
        for (below, bound) in self.below.iter().zip(bounds) {
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(out, "{name}_sum {}\n{name}_count {}", self.seconds, self.count);
    }
}

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
    /// Entries of the ledger.
    pub entries: u64,
    /// The agents' gates.
    pub doors: proof::Counts,
}

impl Metrics {
    /// A call was judged.
    pub fn call(&self, route: &Route, tier: Tier, agent: &str, now: Timestamp) {
        let mut counts = self.lock();
        let word = match route {
            Route::Pass { .. } => "pass",
            Route::Ask { .. } => "ask",
            Route::Refuse => "refuse",
        };
        counts.add_quick(Quick::Call(tier, word));
        let known = counts.agents.len() < NAMES || counts.agents.contains_key(agent);
        let agent = if known { agent } else { "other" };
        match counts.agents.get_mut(agent) {
            Some(count) => *count += 1,
            None => {
                counts.agents.insert(agent.to_owned(), 1);
            }
        }
        counts.hour(now, |hour| match route {
            Route::Pass { .. } => hour.passes += 1,
            Route::Ask { .. } => hour.asks += 1,
            Route::Refuse => hour.refusals += 1,
        });
    }

    /// A call was held for another reason than a person's word.
    pub fn held(&self, held: &Rejection) {
        let why = match held {
            Rejection::Refused => "refused",
            Rejection::TooManyQuestions(_) => "too_many_questions",
            Rejection::Quarantined(_) => "quarantined",
            Rejection::Unavailable(_) => "store",
            Rejection::ClockUnsettled => "clock",
            Rejection::NoChance | Rejection::Unwritable => "machine",
            Rejection::NoSuchRequest => return,
        };
        self.lock().add("countersign_held_total", format!("why=\"{why}\""));
    }

    /// A request has ended.
    pub fn ended(&self, stored: &StoredRequest) {
        let request = &stored.request;
        let mut counts = self.lock();
        let labels = format!("end=\"{}\",tier=\"{}\"", request.state.label(), request.tier.label());
        counts.add("countersign_requests_ended_total", labels);
        let Some(decision) = &request.decision else { return };
        let asked = !request.votes.is_empty();
        if asked && matches!(request.state, State::Approved | State::Denied) {
            let took = Duration::from_millis(request.plan.created.until(decision.at).0);
            counts.answered.add(&ANSWERED, took.as_secs_f64());
        }
        drop(counts);
        self.span(|| Call {
            tool: stored.tool.clone(),
            request: Some(request.id.to_string()),
            agent: request.requester.name().to_owned(),
            tier: request.tier.label(),
            end: request.state.label(),
            from: request.plan.created,
            to: decision.at,
        });
    }

    /// A call passed.
    pub fn passed(
        &self,
        tool: &str,
        agent: &str,
        tier: Tier,
        from: Timestamp,
        to: impl FnOnce() -> Timestamp,
    ) {
        self.span(|| Call {
            tool: tool.to_owned(),
            request: None,
            agent: agent.to_owned(),
            tier: tier.label(),
            end: "passed",
            from,
            to: to(),
        });
    }

    /// The store kept a request, and took so long.
    pub fn wrote(&self, took: Duration) {
        self.lock().written.add(&WRITTEN, took.as_secs_f64());
    }

    /// An announcement went through a channel, or did not.
    pub fn announced(&self, channel: &str, result: &'static str) {
        let mut counts = self.lock();
        let family = "countersign_announcements_total";
        let known = counts.totals.keys().filter(|(name, _)| *name == family).count() < NAMES;
        let channel = if known { plain(channel) } else { "other".to_owned() };
        counts.add(family, format!("channel=\"{channel}\",result=\"{result}\""));
    }

    /// A checkpoint went to a witness, or did not.
    pub fn witnessed(&self, witness: &'static str, arrived: bool) {
        let labels = format!("witness=\"{witness}\",arrived=\"{arrived}\"");
        self.lock().add("countersign_checkpoints_total", labels);
    }

    /// A door answered.
    pub fn answered(&self, door: &'static str, status: u16) {
        self.lock().add_quick(Quick::Answer(status, door));
    }

    /// Somebody was not let in.
    pub fn login_failed(&self) {
        self.lock().add("countersign_login_failures_total", String::new());
    }

    /// Spans go there from now on.
    pub fn export(&self, spans: Spans) {
        // Set once, at the start.
        let _ = self.spans.set(spans);
    }

    fn span(&self, call: impl FnOnce() -> Call) {
        if let Some(spans) = self.spans.get() {
            spans.send(call());
        }
    }

    /// Calls since the start, by agent.
    pub fn agents(&self) -> BTreeMap<String, u64> {
        self.lock().agents.clone()
    }

    /// The last so many hours together, in which this one is the last.
    pub fn last(&self, hours: usize, now: Timestamp) -> Hour {
        let newest = now.0.div_euclid(HOUR);
        let oldest = newest.saturating_sub(i64::try_from(hours).unwrap_or(i64::MAX));
        let counts = self.lock();
        counts.hours.iter().filter(|hour| hour.number > oldest).fold(
            Hour { number: newest, ..Hour::default() },
            |sum, hour| Hour {
                passes: sum.passes + hour.passes,
                asks: sum.asks + hour.asks,
                refusals: sum.refusals + hour.refusals,
                ..sum
            },
        )
    }

    /// Everything since the start by labels, for one family.
    pub fn totals(&self, family: &str) -> BTreeMap<String, u64> {
        let all = self.lock().all();
        all.into_iter()
            .filter(|((name, _), _)| *name == family)
            .map(|((_, labels), count)| (labels, count))
            .collect()
    }

    /// The text that Prometheus reads (exposition format 0.0.4).
    pub fn text(&self, gauges: Gauges) -> String {
        let counts = self.lock();
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
        let _ = writeln!(out, "# TYPE countersign_store_write_seconds histogram");
        counts.written.write("countersign_store_write_seconds", &WRITTEN, &mut out);
        // Never is long ago.
        let proved = gauges.doors.last.map_or(0, Timestamp::seconds);
        let behind = Duration::from_millis(u64::try_from(gauges.behind).unwrap_or(0));
        for (name, value) in [
            ("countersign_open_requests", gauges.open.to_string()),
            ("countersign_waiting_callers", gauges.waiting.to_string()),
            ("countersign_outbox", gauges.outbox.to_string()),
            ("countersign_store_healthy", u8::from(gauges.healthy).to_string()),
            ("countersign_clock_behind_seconds", behind.as_secs_f64().to_string()),
            ("countersign_ledger_entries", gauges.entries.to_string()),
            ("countersign_doors_open", gauges.doors.open.to_string()),
            ("countersign_doors_shut", gauges.doors.shut.to_string()),
            ("countersign_doors_untested", u8::from(gauges.doors.failed).to_string()),
            ("countersign_doors_proved_timestamp_seconds", proved.to_string()),
        ] {
            let _ = writeln!(out, "# TYPE {name} gauge\n{name} {value}");
        }
        out
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn add(&mut self, family: &'static str, labels: String) {
        *self.totals.entry((family, labels)).or_default() += 1;
    }

    /// The kinds are few: tiers and routes, doors and statuses.
    fn add_quick(&mut self, what: Quick) {
        match self.quick.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.quick.push((what, 1)),
        }
    }

    /// All totals by family and labels.
    fn all(&self) -> BTreeMap<(&'static str, String), u64> {
        let quick = self.quick.iter().map(|(what, count)| (what.named(), *count));
        let mut all = self.totals.clone();
        all.extend(quick);
        all
    }

    fn hour(&mut self, now: Timestamp, count: impl FnOnce(&mut Hour)) {
        let number = now.0.div_euclid(HOUR);
        if self.hours.last().is_none_or(|hour| hour.number < number) {
            if self.hours.len() >= HOURS {
                self.hours.remove(0);
            }
            self.hours.push(Hour { number, ..Hour::default() });
        }
        if let Some(newest) = self.hours.last_mut() {
            count(newest);
        }
    }
}

/// A name that cannot break out of its label.
fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '@');
    name.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_risk::route::Pass;

    #[test]
    fn labels_are_bounded_and_cannot_be_broken_out_of() {
        let metrics = Metrics::default();
        let pass = Route::Pass { why: Pass::Harmless };
        for n in 0..500 {
            metrics.call(&pass, Tier::Safe, &format!("a\"}} 1\nforged {n}"), Timestamp(0));
            metrics.announced(&format!("c{n}"), "arrived");
        }
        let text = metrics.text(Gauges::default());
        assert_eq!(text.matches("countersign_agent_calls_total{").count(), NAMES + 1);
        assert!(text.matches("countersign_announcements_total{").count() <= NAMES + 1);
        assert!(text.lines().all(|line| line.starts_with('#') || line.starts_with("countersign_")));
        assert!(text.contains("countersign_calls_total{route=\"pass\",tier=\"SAFE\"} 500"));
    }

    #[test]
    fn hours_are_forgotten_one_by_one() {
        let metrics = Metrics::default();
        for hour in 0..30 {
            metrics.call(&Route::Refuse, Tier::High, "a", Timestamp(hour * HOUR));
        }
        let now = Timestamp(29 * HOUR);
        assert_eq!(metrics.last(24, now).refusals, 24);
        assert_eq!(metrics.last(1, now).refusals, 1);
        assert_eq!(metrics.last(24, Timestamp(100 * HOUR)).refusals, 0);
    }
}
