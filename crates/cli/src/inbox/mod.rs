//! `countersign inbox`: what waits, on the terminal, answered with a few keys.
//!
//! | file | holds |
//! | --- | --- |
//! | `state`, `event` | what it knows; what happens and what is to be done, as values: no I/O |
//! | `keys`, `approve` | what a key does; the only way to an approval |
//! | `list`, `rows` | what waits by urgency, still under the finger; its rows |
//! | `sheet`, `written` | the card as lines; the exact call |
//! | `flow`, `look` | text broken to a width; colours and shapes |
//! | `draw`, `prompt` | state to frame; the question, note or keys at the foot |
//! | `run`, `wires` | the terminal, put back always; the threads that speak with the daemon |
//! | `plain` | questions line by line, where there is no terminal |

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
