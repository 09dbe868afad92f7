//! `countersign import`: what would have been asked in the sessions that agents logged.

pub mod args;
mod print;
pub mod report;
mod save;
pub mod tally;

use std::process::ExitCode;

use countersign_risk::verdict::Policy;

use crate::failure::Failure;
use crate::gate::output;
use crate::recorded::example::example;
use crate::recorded::session_run::SessionRuns;
use crate::recorded::source::{self, CallSource, DEFAULT_DAYS};
use args::ImportArgs;
use save::SavedCalls;
use tally::ImportTally;

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let days = args.days.or_else(|| args.files.is_empty().then_some(DEFAULT_DAYS));
    let found = source::find(&args.files, days)?;
    let mut saved = args.save.as_deref().map(SavedCalls::create).transpose()?;
    let mut runs = SessionRuns::new(Policy::default());
    let mut tally = ImportTally::default();
    let mut calls = CallSource::default();
    calls.read(&found, |placed| {
        let seen = runs.assess(&placed.call, placed.raw, !placed.rejected);
        let text = || example(&placed.call, &seen.assessment);
        tally.add(placed.source, placed.session, &seen, placed.rejected, text);
        match &mut saved {
            Some(saved) => saved.add(&placed.call, placed.raw, placed.rejected),
            None => Ok(()),
        }
    })?;
    if let Some(saved) = saved {
        saved.finish()?;
    }
    tally.note(&calls);
    let report = tally.report();
    if args.json {
        return output::json(&report);
    }
    let detail = print::Detail { all: args.all, days };
    output::say(|out, paint| Ok(print::print(out, &report, detail, paint)?))
}
