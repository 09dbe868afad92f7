//! `countersign login`: a token to export, and what that means.

use std::process::ExitCode;

use super::{args, credential, house, page};
use crate::failure::Failure;

/// Runs the command.
pub fn run(args: &args::Login) -> Result<ExitCode, Failure> {
    let login = credential::login(&args.person)?;
    let person = page::safe(&login.person, 80);
    if args.person.json {
        let answer = serde_json::json!({
            "token": login.token, "person": login.person, "role": login.role,
            "expires": login.expires,
        });
        return house::json(&answer);
    }
    house::say(|out, _| {
        writeln!(out, "export COUNTERSIGN_TOKEN={}", page::safe(&login.token, 200))?;
        writeln!(out)?;
        writeln!(
            out,
            "Whoever has this token answers as {person} until {}. Run the line in the shell where\n\
             you answer, never in one that starts agents, and do not write it into a file that\n\
             agents can read.",
            login.expires
        )?;
        Ok(())
    })
}
