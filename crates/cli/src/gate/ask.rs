//! `countersign ask` and `cancel`: the agent's side, for scripts.

use std::io::{self, Write as _};
use std::process::ExitCode;

use countersign_client::{Agent, Outcome, Question, Request, State};

use super::{args, choose, house, page, reach};
use crate::door::{self, Files};
use crate::failure::Failure;

/// Runs `countersign ask`. Every way out but one is a no.
pub fn run(args: &args::Ask) -> Result<ExitCode, Failure> {
    let mut question = match (&args.action, &args.command) {
        (Some(action), _) => {
            let given = args.payload.as_deref().unwrap_or("{}");
            let payload = door::text(given, "--payload", Files::Named)?;
            Question::tool(action, &payload)?
        }
        (None, Some(command)) => Question::command(command),
        (None, None) => return Err(Failure::Input("nothing to ask (see --help)".to_owned())),
    };
    question.description.clone_from(&args.description);
    question.risk_level.clone_from(&args.risk);
    question.session.clone_from(&args.session);
    question.timeout_seconds = args.timeout;
    let agent = reach::agent(&args.asker)?;
    let outcome = agent.ask_and_tell(&question, waits);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            let why = page::safe(&error.to_string(), 2000);
            if args.asker.json {
                let answer = serde_json::json!({ "outcome": "error", "error": why });
                house::say(|out, _| Ok(writeln!(out, "{answer}")?))?;
            }
            return Err(Failure::Input(format!("denied: {why}")));
        }
    };
    if args.asker.json {
        let answer = serde_json::to_string(outcome.request())?;
        house::line(&answer)?;
    } else {
        house::line(&said(&outcome))?;
    }
    Ok(if outcome.is_approved() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says on standard error that a person was asked; standard output has the answer alone.
fn waits(request: &Request) {
    let words = page::safe(&request.phrase, 60);
    let tier = page::safe(&request.tier, 12);
    // Nobody is left to tell if standard error is gone.
    let _ = writeln!(io::stderr(), "waiting for a person: {words} ({tier})");
}

/// One plain line.
fn said(outcome: &Outcome) -> String {
    let request = outcome.request();
    let reason = match request.reason() {
        "" => String::new(),
        reason => format!(": {}", page::safe(reason, 2000)),
    };
    let by = page::safe(&request.decided_by(), 200);
    match outcome {
        Outcome::Approved(approval) => {
            let edited = match approval.request().edited_arguments {
                Some(_) => " with other arguments (see --json)",
                None => "",
            };
            format!("approved by {by}{edited}{reason}")
        }
        Outcome::Denied(_) => format!("denied by {by}{reason}"),
        Outcome::Expired(_) => "expired: nobody answered in time, so the answer is no".to_owned(),
        Outcome::Cancelled(_) => "cancelled: the request was taken back".to_owned(),
    }
}

/// Runs `countersign cancel`.
pub fn cancel(args: &args::Cancel) -> Result<ExitCode, Failure> {
    let agent = reach::agent(&args.asker)?;
    let id = meant(&agent, &args.request)?;
    let after = agent.cancel(&id)?;
    if args.asker.json {
        return house::json(&after);
    }
    house::line(&format!("{}: taken back", page::safe(&after.phrase, 60)))
}

fn meant(agent: &Agent, text: &str) -> Result<String, Failure> {
    if text.len() == 26 && !text.contains('-') {
        return Ok(text.to_owned());
    }
    let mut waiting = agent.list(Some(State::Pending))?;
    waiting.retain(|request| choose::fits(request, text));
    choose::one(&waiting, text)
}
