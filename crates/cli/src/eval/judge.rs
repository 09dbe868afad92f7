//! One labelled row judged, timed, and made ready for counting and for the record.

use std::borrow::Cow;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::corpus::{Row, Subject};
use super::owed::{Owed, owed};
use super::tally::{Judged, Kind, Miss, Tally};
use crate::args;
use crate::assess::tool_call;
use crate::core_api::{self, Assessment, Call, ScreenSettings, Screening, Tier, Verdict};

/// What came out.
enum Answer {
    Call(Box<Assessment>),
    Text(Box<Screening>),
}

/// A judged row.
pub struct JudgedRow {
    line: u64,
    owed: Owed,
    answer: Answer,
    time: Duration,
}

/// A row's result, as `--json` writes it.
#[derive(Serialize)]
pub struct Record<'a> {
    source: &'a str,
    line: u64,
    label: &'a str,
    owed: &'static str,
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
    level: Option<u8>,
    reasons: Vec<&'a str>,
    text: Cow<'a, str>,
}

/// What kind of row it is.
pub fn kind(row: &Row<'_>) -> Kind {
    match row.subject {
        Subject::Command(_) => Kind::Commands,
        Subject::Tool { .. } => Kind::ToolCalls,
        Subject::Text(_) => Kind::Texts,
    }
}

/// Judges a row.
pub fn judge(row: &Row<'_>, line: u64, args: &args::Eval) -> Result<JudgedRow, String> {
    let mut call = match row.subject {
        Subject::Command(text) => Call::shell(text),
        Subject::Tool { name, arguments } => tool_call(name, arguments.clone()),
        Subject::Text(text) => return screened(text, line, owed(row)),
    };
    let implied = if args.neutral { None } else { row.implied_environment() };
    if let Some(environment) = args.env.or(implied) {
        call.context.environment = environment;
    }
    let start = Instant::now();
    let assessment = black_box(core_api::assess(black_box(&call)));
    let time = start.elapsed();
    Ok(JudgedRow { line, owed: owed(row), answer: Answer::Call(Box::new(assessment)), time })
}

fn screened(text: &str, line: u64, owed: Owed) -> Result<JudgedRow, String> {
    let settings = ScreenSettings::default();
    let start = Instant::now();
    let screening = black_box(core_api::screen(black_box(text), &settings));
    let time = start.elapsed();
    Ok(JudgedRow { line, owed, answer: Answer::Text(Box::new(screening?)), time })
}

impl JudgedRow {
    fn short_by(&self) -> u8 {
        match &self.answer {
            Answer::Call(assessment) => self.owed.short_by(assessment.tier),
            Answer::Text(screening) => match self.owed {
                Owed::Found => u8::from(!screening.crisis),
                Owed::NotFound => u8::from(screening.crisis),
                _ => 0,
            },
        }
    }

    fn met(&self) -> Option<bool> {
        (self.owed != Owed::Nothing).then(|| self.short_by() == 0)
    }

    /// The row's result for `--json`.
    pub fn record<'a>(&'a self, source: &'a str, row: &Row<'a>) -> Record<'a> {
        let (call, text) = match &self.answer {
            Answer::Call(assessment) => (Some(assessment), None),
            Answer::Text(screening) => (None, Some(screening)),
        };
        let signals = text.iter().flat_map(|s| s.signals.iter().map(|s| s.rule));
        let reasons = call.iter().flat_map(|a| a.reasons.iter().map(|r| r.code.as_ref()));
        Record {
            source,
            line: self.line,
            label: row.label,
            owed: self.owed.words(),
            met: self.met(),
            counted: !row.policy_dependent,
            nanoseconds: u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX),
            tier: call.map(|a| a.tier),
            points: call.map(|a| a.points.value()),
            confidence: call.map(|a| a.confidence),
            verdict: call.map(|a| a.verdict),
            crisis: text.map(|s| s.crisis),
            level: text.map(|s| s.level),
            reasons: reasons.chain(signals).collect(),
            text: row.excerpt(),
        }
    }

    /// Counts the row.
    pub fn count(&self, row: &Row<'_>, tally: &mut Tally) {
        if row.policy_dependent {
            tally.disputed += 1;
            return;
        }
        let (column, points, asks) = match &self.answer {
            Answer::Call(a) => (a.tier as usize, Some(a.points.0), a.verdict != Verdict::Allow),
            Answer::Text(s) => (usize::from(s.crisis), None, s.crisis),
        };
        let judged = Judged {
            owed: self.owed,
            label: row.label,
            look_alike: row.look_alike,
            lang: row.lang.unwrap_or("(none)"),
            column,
            points,
            short_by: self.short_by(),
            asks,
            time: self.time,
        };
        tally.count(&judged, || self.miss(row));
    }

    fn miss(&self, row: &Row<'_>) -> Miss {
        let (judged, reasons) = match &self.answer {
            Answer::Call(a) => {
                let codes = a.reasons.iter().take(3).map(|r| core_api::show(&r.code, 80));
                (format!("{} {}", a.tier.label(), a.points.value()), codes.collect())
            }
            Answer::Text(s) => {
                let rules = s.signals.iter().take(3).map(|signal| signal.rule.to_owned());
                (format!("level {}", s.level), rules.collect())
            }
        };
        Miss {
            line: self.line,
            short_by: self.short_by(),
            owed: self.owed,
            label: core_api::show(row.label, 40),
            judged,
            text: core_api::show(&row.excerpt(), 600),
            why: core_api::show(row.why.unwrap_or_default(), 200),
            reasons,
        }
    }
}
