//! Assesses one labelled row, with its time, for the tally and the record.

use std::borrow::Cow;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::corpus::{LabelledRow, RowSubject};
use super::expectation::{Expectation, expectation};
use super::tally::{EvaluatedResult, Miss, RowKind, Tally};
use crate::args;

use crate::engine::{self, Assessment, Call, Concern, ScreenSettings, Screening, Tier, Verdict};

/// The assessment or the screening.
enum RowAnswer {
    Call(Box<Assessment>),
    Text(Box<Screening>),
}

/// An assessed row.
pub struct EvaluatedRow {
    line: u64,
    expectation: Expectation,
    answer: RowAnswer,
    time: Duration,
}

/// The result of a row, as `--json` writes it.
#[derive(Serialize)]
pub struct RowResult<'a> {
    source: &'a str,
    line: u64,
    label: &'a str,
    expectation: &'static str,
    met: Option<bool>,
    counted: bool,
    nanoseconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<Tier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crisis: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concern: Option<Concern>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<u8>,
    reasons: Vec<&'a str>,
    text: Cow<'a, str>,
}

/// What kind of row it is.
pub fn kind(row: &LabelledRow<'_>) -> RowKind {
    match row.subject {
        RowSubject::Command(_) => RowKind::Commands,
        RowSubject::Tool { .. } => RowKind::ToolCalls,
        RowSubject::Text(_) => RowKind::Texts,
    }
}

/// Assesses a row.
pub fn evaluate(
    row: &LabelledRow<'_>,
    line: u64,
    args: &args::Eval,
) -> Result<EvaluatedRow, String> {
    let mut call = match row.subject {
        RowSubject::Command(text) => Call::shell(text),
        RowSubject::Tool { name, arguments } => engine::tool_call(name, arguments.clone()),
        RowSubject::Text(text) => return screened(text, line, expectation(row)),
    };
    let implied = if args.neutral { None } else { row.implied_environment() };
    if let Some(environment) = args.env.or(implied) {
        call.context.environment = environment;
    }
    let start = Instant::now();
    let assessment = black_box(engine::assess(black_box(&call)));
    let time = start.elapsed();
    Ok(EvaluatedRow {
        line,
        expectation: expectation(row),
        answer: RowAnswer::Call(Box::new(assessment)),
        time,
    })
}

fn screened(text: &str, line: u64, expectation: Expectation) -> Result<EvaluatedRow, String> {
    let settings = ScreenSettings::default();
    let start = Instant::now();
    let screening = black_box(engine::screen(black_box(text), &settings));
    let time = start.elapsed();
    Ok(EvaluatedRow { line, expectation, answer: RowAnswer::Text(Box::new(screening?)), time })
}

impl EvaluatedRow {
    fn short_by(&self) -> u8 {
        match &self.answer {
            RowAnswer::Call(assessment) => self.expectation.short_by(assessment.tier),
            RowAnswer::Text(screening) => match self.expectation {
                Expectation::Found => u8::from(screening.concern == Concern::None),
                Expectation::NotFound => u8::from(screening.concern != Concern::None),
                _ => 0,
            },
        }
    }

    fn met(&self) -> Option<bool> {
        (self.expectation != Expectation::Nothing).then(|| self.short_by() == 0)
    }

    /// The result of the row for `--json`.
    pub fn record<'a>(&'a self, source: &'a str, row: &LabelledRow<'a>) -> RowResult<'a> {
        let (call, text) = match &self.answer {
            RowAnswer::Call(assessment) => (Some(assessment), None),
            RowAnswer::Text(screening) => (None, Some(screening)),
        };
        let signals = text.iter().flat_map(|s| s.signals.iter().map(|s| s.rule));
        let reasons = call.iter().flat_map(|a| a.reasons.iter().map(|r| r.code.as_ref()));
        RowResult {
            source,
            line: self.line,
            label: row.label,
            expectation: self.expectation.words(),
            met: self.met(),
            counted: !row.policy_dependent,
            nanoseconds: u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX),
            tier: call.map(|a| a.tier),
            points: call.map(|a| a.points.value()),
            confidence: call.map(|a| a.confidence),
            verdict: call.map(|a| a.verdict),
            crisis: text.map(|s| s.crisis),
            concern: text.map(|s| s.concern),
            level: text.map(|s| s.level),
            reasons: reasons.chain(signals).collect(),
            text: row.excerpt(),
        }
    }

    /// Counts the row.
    pub fn count(&self, row: &LabelledRow<'_>, tally: &mut Tally) {
        if row.policy_dependent {
            tally.disputed += 1;
            return;
        }
        let (column, points, asks) = match &self.answer {
            RowAnswer::Call(a) => (a.tier as usize, Some(a.points.0), a.verdict != Verdict::Allow),
            RowAnswer::Text(s) => {
                let found = s.concern != Concern::None;
                (usize::from(found), None, found)
            }
        };
        let assessed = EvaluatedResult {
            expectation: self.expectation,
            label: row.label,
            look_alike: row.look_alike,
            lang: row.lang.unwrap_or("(none)"),
            column,
            points,
            short_by: self.short_by(),
            asks,
            time: self.time,
        };
        tally.count(&assessed, || self.miss(row));
    }

    fn miss(&self, row: &LabelledRow<'_>) -> Miss {
        let (assessed, reasons) = match &self.answer {
            RowAnswer::Call(a) => {
                let codes = a.reasons.iter().take(3).map(|r| engine::sanitize(&r.code, 80));
                (format!("{} {}", a.tier.label(), a.points.value()), codes.collect())
            }
            RowAnswer::Text(s) => {
                let rules = s.signals.iter().take(3).map(|signal| signal.rule.to_owned());
                (format!("level {}", s.level), rules.collect())
            }
        };
        Miss {
            line: self.line,
            short_by: self.short_by(),
            expectation: self.expectation,
            label: engine::sanitize(row.label, 40),
            assessed,
            text: engine::sanitize(&row.excerpt(), 600),
            why: engine::sanitize(row.why.unwrap_or_default(), 200),
            reasons,
        }
    }
}
