//! `countersign login`: prints a token to export.

use std::process::ExitCode;

use super::{args, credential, output, page};
use crate::failure::Failure;

/// Runs the command.
pub fn run(args: &args::LoginArgs) -> Result<ExitCode, Failure> {
    let login = credential::login(&args.person)?;
    let person = page::safe(&login.person, 80);
    if args.person.json {
        let answer = serde_json::json!({
            "token": login.token, "person": login.person, "role": login.role,
            "expires": login.expires,
        });
        return output::json(&answer);
    }
    output::say(|out, _| {
        writeln!(out, "export COUNTERSIGN_TOKEN={}", page::safe(&login.token, 200))?;
        writeln!(out)?;
        writeln!(
            out,
            "Anyone who has this token decides as {person} until {}. Run the line in the shell\n\
             where you decide, never in a shell that starts agents, and do not write it into a\n\
             file that agents can read.",
            login.expires
        )?;
        Ok(())
    })
}
