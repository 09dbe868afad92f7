//! `countersign freeze` and `countersign thaw`: stop every call, and let calls run again in stages.

use std::process::ExitCode;

use super::args_people::{FreezeArgs, ThawArgs};
use super::credential::PersonSession;
use super::output;
use crate::failure::Failure;

/// Stops every call.
pub fn freeze(args: &FreezeArgs) -> Result<ExitCode, Failure> {
    let state = PersonSession::open(&args.person)?.freeze()?;
    if args.person.json {
        return output::json(&state);
    }
    output::line(
        "Frozen. Every call is refused and all pending requests are denied.\n\
         Next: countersign thaw people",
    )
}

/// Ends one stage of the freeze.
pub fn thaw(args: &ThawArgs) -> Result<ExitCode, Failure> {
    let state = PersonSession::open_to_change(&args.person)?.thaw(args.resume.word())?;
    if args.person.json {
        return output::json(&state);
    }
    output::line(match state.stage.as_deref() {
        Some(_) => {
            "People decide again. Grants and permits from before the freeze stay suspended.\n\
             Next: countersign thaw grants"
        }
        None => "Grants are active again. Nothing is frozen.",
    })
}
