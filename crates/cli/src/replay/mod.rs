//! `countersign replay`: other settings, tried out on recorded calls and people's decisions.

pub mod args;
mod compare;
mod observed_calls;
mod print;
mod recorded_requests;
pub mod setting;
mod stored_call;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::engine::{Call, Context};
use crate::failure::Failure;
use crate::gate::output;
use crate::recorded::example::example;
use crate::recorded::session_run::SessionRuns;
use crate::recorded::source::{self, CallSource};
use args::ReplayArgs;
use compare::{ComparedCall, RecordedDecision, ReplayReport, ReplayedCall};
use recorded_requests::percent;
use setting::{ReplaySetting, mode_of};

/// Runs the command.
pub fn run(args: &ReplayArgs) -> Result<ExitCode, Failure> {
    let now = ReplaySetting::load(None)?;
    let then = match &args.config {
        Some(file) => ReplaySetting::load(Some(file))?,
        None => now.clone(),
    };
    let then = match args.mode.as_deref() {
        Some(mode) => then.in_mode(mode_of(mode)),
        None => then,
    };
    let report = if args.files.is_empty() {
        recorded_requests::compare(&args.person, &now, &then)?
    } else {
        logged_calls(&args.files, &now, &then)?
    };
    let code = if report.passes_no_denied() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if args.person.json {
        output::json(&report)?;
    } else {
        output::say(|out, paint| Ok(print::print(out, &report, paint)?))?;
    }
    Ok(code)
}

/// Assesses the calls of logs again, once with each setting.
fn logged_calls(
    files: &[PathBuf],
    now: &ReplaySetting,
    then: &ReplaySetting,
) -> Result<ReplayReport, Failure> {
    let mut report = ReplayReport::new(now, then);
    let mut runs = [now, then].map(|setting| SessionRuns::new(setting.policy));
    let mut calls = CallSource::default();
    calls.read(&source::find(files, None)?, |placed| {
        let [first, second] = &mut runs;
        let assess = |runs: &mut SessionRuns, setting: &ReplaySetting| {
            let context = Context { environment: setting.environment, ..placed.call.context };
            let call = Call { context, ..placed.call.clone() };
            let seen = runs.assess(&call, placed.raw, !placed.rejected);
            (setting.outcome(&call, &seen), seen)
        };
        let ((before, _), (outcome, after)) = (assess(first, now), assess(second, then));
        let decision =
            if placed.rejected { RecordedDecision::Denied } else { RecordedDecision::None };
        let seen = &after.assessment;
        let confidence = percent(seen.confidence);
        let may_pass = then.may_pass(seen.tier, confidence, seen.crisis_sensitive);
        let compared = ComparedCall { now: before, then: outcome, may_pass, decision };
        report.add(compared, || ReplayedCall {
            place: crate::engine::sanitize(placed.session, 60),
            tier: after.assessment.tier,
            call: example(&placed.call, &after.assessment),
        });
        Ok(())
    })?;
    report.partial = calls.partial;
    Ok(report)
}
