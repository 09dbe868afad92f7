//! Counts of what the daemon does, and the text in which Prometheus reads them.
//!
//! Every set of labels is bounded: names that come from outside are counted up to a number of
//! different ones, and all others together as `other`.

mod counts;
mod prometheus;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use countersign_risk::route::Route;
use countersign_store::StoredRequest;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::State;

use crate::otlp::{CallSpan, SpanQueue};

use counts::{ANSWERED, Counts, HOUR, MODEL, PerCallCount, WRITTEN};
use prometheus::plain;

pub use counts::HourCounts;
pub use prometheus::{GateCounts, Gauges};

/// Different names for one label.
const NAMES: usize = 50;

/// All counts, and where spans go.
#[derive(Debug, Default)]
pub struct Metrics {
    counts: Mutex<Counts>,
    spans: OnceLock<SpanQueue>,
}

impl Metrics {
    /// Counts an assessed call.
    pub fn call(&self, route: &Route, tier: Tier, agent: &str, now: Timestamp) {
        let mut counts = self.lock();
        let word = match route {
            Route::Pass { .. } => "pass",
            Route::Ask { .. } => "ask",
            Route::Refuse => "refuse",
        };
        counts.add_per_call(PerCallCount::Call(tier, word));
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

    /// Counts a call that was rejected without a person.
    pub fn held(&self, why: &'static str) {
        self.lock().add("countersign_held_total", format!("why=\"{why}\""));
    }

    /// Counts an ended request.
    pub fn ended(&self, stored: &StoredRequest) {
        let request = &stored.request;
        let mut counts = self.lock();
        let labels = format!("end=\"{}\",tier=\"{}\"", request.state.label(), request.tier.label());
        counts.add("countersign_requests_ended_total", labels);
        let Some(decision) = &request.decision else { return };
        let asked = !request.votes.is_empty();
        if asked && matches!(request.state, State::Approved | State::Denied) {
            let took = Duration::from_millis(request.schedule.created.until(decision.at).0);
            counts.answered.add(&ANSWERED, took.as_secs_f64());
        }
        drop(counts);
        self.span(|| CallSpan {
            tool: stored.tool.clone(),
            request: Some(request.id.to_string()),
            agent: request.requester.name().to_owned(),
            tier: request.tier.label(),
            end: request.state.label(),
            from: request.schedule.created,
            to: decision.at,
        });
    }

    /// Counts a pass.
    pub fn passed(
        &self,
        tool: &str,
        agent: &str,
        tier: Tier,
        from: Timestamp,
        to: impl FnOnce() -> Timestamp,
    ) {
        self.span(|| CallSpan {
            tool: tool.to_owned(),
            request: None,
            agent: agent.to_owned(),
            tier: tier.label(),
            end: "passed",
            from,
            to: to(),
        });
    }

    /// Records how long the store took for a request.
    pub fn wrote(&self, took: Duration) {
        self.lock().written.add(&WRITTEN, took.as_secs_f64());
    }

    /// Counts a delivery attempt.
    pub fn announced(&self, channel: &str, result: &'static str) {
        let mut counts = self.lock();
        let family = "countersign_announcements_total";
        let known = counts.totals.keys().filter(|(name, _)| *name == family).count() < NAMES;
        let channel = if known { plain(channel) } else { "other".to_owned() };
        counts.add(family, format!("channel=\"{channel}\",result=\"{result}\""));
    }

    /// Counts a question to the model judge: its result, its tokens, what they cost in millionths
    /// of the currency's unit, and its time; none if the model was not asked.
    pub fn judge(
        &self,
        result: &'static str,
        tokens: (u64, u64),
        cost: u64,
        took: Option<Duration>,
    ) {
        let mut counts = self.lock();
        counts.add("countersign_judge_questions_total", format!("result=\"{result}\""));
        for (kind, tokens) in [("input", tokens.0), ("output", tokens.1)] {
            let labels = format!("kind=\"{kind}\"");
            *counts.totals.entry(("countersign_judge_tokens_total", labels)).or_default() += tokens;
        }
        let family = ("countersign_judge_cost_millionths_total", String::new());
        *counts.totals.entry(family).or_default() += cost;
        if let Some(took) = took {
            counts.judge_times.add(&MODEL, took.as_secs_f64());
        }
    }

    /// Counts what the judge's verdict did: released, denied, asked, sampled.
    pub fn judge_action(&self, action: &'static str) {
        self.lock().add("countersign_judge_actions_total", format!("action=\"{action}\""));
    }

    /// Counts a text that the guard model was asked about: its family, who wrote the text, the
    /// result (`safe`, `unsafe`, or the reason for none), and its time.
    pub fn guard(&self, family: &'static str, role: &str, result: &'static str, took: Duration) {
        let mut counts = self.lock();
        let labels = format!("family=\"{family}\",role=\"{role}\",result=\"{result}\"");
        counts.add("countersign_guard_checks_total", labels);
        if !["safe", "unsafe"].contains(&result) {
            let labels = format!("family=\"{family}\",reason=\"{result}\"");
            counts.add("countersign_guard_unavailable_total", labels);
        }
        counts.guards.entry(family).or_default().add(&MODEL, took.as_secs_f64());
    }

    /// Counts a checkpoint sent to a witness.
    pub fn witnessed(&self, witness: &'static str, arrived: bool) {
        let labels = format!("witness=\"{witness}\",arrived=\"{arrived}\"");
        self.lock().add("countersign_checkpoints_total", labels);
    }

    /// Counts an HTTP response.
    pub fn answered(&self, api: &'static str, status: u16) {
        self.lock().add_per_call(PerCallCount::Answer(status, api));
    }

    /// Counts a failed authentication.
    pub fn login_failed(&self) {
        self.lock().add("countersign_login_failures_total", String::new());
    }

    /// Sets the exporter of spans.
    pub fn export(&self, spans: SpanQueue) {
        // Set once, at the start.
        let _ = self.spans.set(spans);
    }

    fn span(&self, call: impl FnOnce() -> CallSpan) {
        if let Some(spans) = self.spans.get() {
            spans.send(call());
        }
    }

    /// Calls since the start, by agent.
    pub fn agents(&self) -> BTreeMap<String, u64> {
        self.lock().agents.clone()
    }

    /// The totals of the last hours, including the current one.
    pub fn last(&self, hours: usize, now: Timestamp) -> HourCounts {
        let newest = now.0.div_euclid(HOUR);
        let oldest = newest.saturating_sub(i64::try_from(hours).unwrap_or(i64::MAX));
        let counts = self.lock();
        counts.hours.iter().filter(|hour| hour.number > oldest).fold(
            HourCounts { number: newest, ..HourCounts::default() },
            |sum, hour| HourCounts {
                passes: sum.passes + hour.passes,
                asks: sum.asks + hour.asks,
                refusals: sum.refusals + hour.refusals,
                ..sum
            },
        )
    }

    /// The counts of one family since the start, by labels.
    pub fn totals(&self, family: &str) -> BTreeMap<String, u64> {
        let all = self.lock().all();
        all.into_iter()
            .filter(|((name, _), _)| *name == family)
            .map(|((_, labels), count)| (labels, count))
            .collect()
    }

    /// The text that Prometheus reads (exposition format 0.0.4).
    pub fn text(&self, gauges: Gauges) -> String {
        prometheus::text(&self.lock(), gauges)
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_risk::route::Pass;

    #[test]
    fn labels_are_bounded_and_escaped() {
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
    fn old_hours_are_dropped() {
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
