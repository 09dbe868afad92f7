//! `countersign judge`: tests and inspects the model judge.

mod explain;
mod rates;
mod report;
mod test;

use std::process::ExitCode;

use crate::failure::Failure;
use crate::gate::args_judge::{JudgeArgs, JudgeWhat};

/// Runs the command.
pub fn run(args: &JudgeArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        JudgeWhat::Test(args) => test::run(args),
        JudgeWhat::Explain(args) => explain::run(args),
        JudgeWhat::Report(args) => report::run(args),
    }
}
