//! `countersign inbox`: what waits, on the terminal, answered with a few keys.

mod approve;
mod draw;
mod event;
mod flow;
mod keys;
mod list;
mod look;
mod plain;
mod prompt;
mod rows;
mod run;
mod sheet;
mod state;
#[cfg(test)]
mod tests;
mod wires;
mod written;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::gate::args;
use crate::gate::credential::Session;

/// Runs the command: the whole screen on a terminal, questions line by line elsewhere.
pub fn run(args: &args::Inbox) -> Result<ExitCode, Failure> {
    let session = Session::open(&args.person)?;
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let terminal = io::stdin().is_terminal() && io::stdout().is_terminal() && !dumb;
    if args.plain || args.person.json || !terminal {
        return plain::run(&session, args.person.json);
    }
    run::run(&session)
}
