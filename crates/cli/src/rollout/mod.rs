//! `countersign rollout`: which phase this installation is in, and what the next one would change.

pub mod args;
mod print;
mod report;

use std::collections::HashMap;
use std::process::ExitCode;

use countersign_risk::verdict::Mode;

use crate::failure::Failure;
use crate::gate::{output, page, reach};
use crate::import::report::questions;
use crate::recorded::session_run::SessionRuns;
use crate::recorded::source::{self, CallSource, DEFAULT_DAYS};
use crate::replay::setting::{ReplayOutcome, ReplaySetting, mode_name};
use args::RolloutArgs;
use report::{PhaseReport, RolloutReport};

/// A phase of the rollout.
#[derive(Clone, Copy)]
struct Phase {
    mode: Mode,
    message: &'static str,
}

/// The phases in order.
const PHASES: [Phase; 3] = [
    Phase {
        mode: Mode::Observe,
        message: "records what would have been asked; only a crisis holds calls back",
    },
    Phase {
        mode: Mode::CrisisOnly,
        message: "the crisis rules apply; all other calls pass and are recorded",
    },
    Phase { mode: Mode::Enforce, message: "risky calls wait for a person" },
];

/// Counts of one phase.
#[derive(Default)]
struct PhaseCount {
    sessions: HashMap<String, u64>,
    rejected_held: u64,
}

/// Runs the command.
pub fn run(args: &RolloutArgs) -> Result<ExitCode, Failure> {
    let paths = reach::paths(args.config.as_deref(), None)?;
    let setting = ReplaySetting::load(args.config.as_deref())?;
    let days = args.days.or_else(|| args.files.is_empty().then_some(DEFAULT_DAYS));
    let found = source::find(&args.files, days)?;
    let mut counts: [PhaseCount; PHASES.len()] = Default::default();
    let mut runs = SessionRuns::new(setting.policy);
    let settings = PHASES.map(|phase| setting.clone().in_mode(phase.mode));
    let (mut calls, mut rejected, mut not_comparable) = (0, 0, 0);
    CallSource::default().read(&found, |placed| {
        let seen = runs.assess(&placed.call, placed.raw, !placed.rejected);
        calls += 1;
        rejected += u64::from(placed.rejected);
        let outcomes = settings.each_ref().map(|setting| setting.outcome(&placed.call, &seen));
        not_comparable += u64::from(outcomes.contains(&None));
        for (outcome, count) in outcomes.into_iter().zip(&mut counts) {
            let asked = count.sessions.entry(placed.session.to_owned()).or_default();
            *asked += u64::from(outcome == Some(ReplayOutcome::Ask));
            let held = matches!(outcome, Some(ReplayOutcome::Ask | ReplayOutcome::Refuse));
            count.rejected_held += u64::from(placed.rejected && held);
        }
        Ok(())
    })?;
    let sessions = counts.first().map_or(0, |count| count.sessions.len() as u64);
    let phase = |(phase, count): (&Phase, PhaseCount)| PhaseReport {
        mode: mode_name(phase.mode),
        message: phase.message,
        current: phase.mode == setting.mode,
        asked: questions(count.sessions.into_values().collect(), calls),
        rejected_held: count.rejected_held,
    };
    let at = PHASES.iter().position(|phase| phase.mode == setting.mode);
    let next = at.and_then(|at| PHASES.get(at + 1)).map(|phase| mode_name(phase.mode));
    let report = RolloutReport {
        config: page::safe(&paths.config.display().to_string(), 4096),
        config_exists: paths.config.exists(),
        phases: PHASES.iter().zip(counts).map(phase).collect(),
        next,
        calls,
        sessions,
        rejected,
        not_comparable,
    };
    if args.json {
        return output::json(&report);
    }
    output::say(|out, paint| Ok(print::print(out, &report, days, paint)?))
}
