//! `countersign login` and `countersign logout`: a login that is saved in a private file.

use std::process::ExitCode;

use super::{args, credential, output, page, reach, saved_login};
use crate::failure::Failure;

/// Logs in and saves the token, which is never printed.
pub fn run(args: &args::LoginArgs) -> Result<ExitCode, Failure> {
    let endpoint = reach::people_endpoint(args.person.people.as_deref())?;
    let login = credential::login(&args.person)?;
    let file = saved_login::save(&endpoint, &login)?;
    if args.person.json {
        let answer = serde_json::json!({
            "token_file": file, "person": login.person, "role": login.role,
            "expires": login.expires,
        });
        return output::json(&answer);
    }
    let person = page::safe(&login.person, 80);
    output::say(|out, _| {
        writeln!(
            out,
            "Logged in as {person} until {}, or until the session is idle for too long.\n\
             The token is in {}, which only you can read. A program of your user could read it\n\
             too and decide as {person}: run `countersign logout` before you leave agents alone.",
            login.expires,
            file.display()
        )?;
        Ok(())
    })
}

/// Ends the saved login.
pub fn logout(args: &args::LogoutArgs) -> Result<ExitCode, Failure> {
    let endpoint = reach::people_endpoint(args.people.as_deref())?;
    let ended = saved_login::end(&endpoint)?;
    output::say(|out, _| {
        match ended {
            Some(person) => writeln!(out, "Logged out {}.", page::safe(&person, 80))?,
            None => writeln!(out, "No login is saved here.")?,
        }
        Ok(())
    })
}
