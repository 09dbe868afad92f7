//! `countersign inbox`: pending requests in the terminal.
//!
//! | file | holds |
//! | --- | --- |
//! | `state`, `model`, `event` | the state; events and effects as values, no I/O |
//! | `keys`, `approve` | keys; the only path to an approval |
//! | `list`, `rows` | pending requests by urgency; their rows |
//! | `card_lines`, `call_lines` | the card as lines; the exact call |
//! | `wrap`, `style` | wrapping; colours and shapes |
//! | `draw`, `prompt` | draws a frame; the footer |
//! | `run`, `threads` | the terminal; the threads that talk to the daemon |
//! | `plain` | line by line, without a terminal |

mod approve;
mod call_lines;
mod card_lines;
mod card_style;
mod draw;
mod edit_lines;
mod event;
mod impact_rows;
mod keys;
mod list;
mod model;
mod plain;
mod prompt;
mod rows;
mod run;
mod state;
mod style;
#[cfg(test)]
mod tests;
mod threads;
mod time_left;
mod wrap;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::gate::args;
use crate::gate::credential::PersonSession;

/// Runs the command: full screen on a terminal, line by line otherwise.
pub fn run(args: &args::InboxArgs) -> Result<ExitCode, Failure> {
    let session = PersonSession::open(&args.person)?;
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let terminal = io::stdin().is_terminal() && io::stdout().is_terminal() && !dumb;
    if args.plain || args.person.json || !terminal {
        return plain::run(&session, args.person.json);
    }
    run::run(&session)
}
