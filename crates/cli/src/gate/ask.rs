//! `countersign ask` and `cancel`: the agent API for scripts.

use std::io::{self, Write as _};
use std::process::ExitCode;

use countersign_client::{AgentClient, CallRequest, Outcome, RequestRecord, RequestStatus};

use super::{args, find_request, output, page, reach};
use crate::failure::Failure;
use crate::input::{self, Files};

/// Runs `countersign ask`. Only one path returns success.
pub fn run(args: &args::Ask) -> Result<ExitCode, Failure> {
    let mut question = match (&args.action, &args.command) {
        (Some(action), _) => {
            let given = args.payload.as_deref().unwrap_or("{}");
            let payload = input::text(given, "--payload", Files::Named)?;
            CallRequest::tool(action, &payload)?
        }
        (None, Some(command)) => CallRequest::command(command),
        (None, None) => {
            return Err(Failure::Input(
                "nothing to ask; give --action or --command (see --help)".to_owned(),
            ));
        }
    };
    question.description.clone_from(&args.description);
    question.risk_level.clone_from(&args.risk);
    question.session.clone_from(&args.session);
    question.timeout_seconds = args.timeout;
    let agent = reach::agent(&args.asker)?;
    let outcome = agent.ask_with_notice(&question, waits);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            let why = page::safe(&error.to_string(), 2000);
            if args.asker.json {
                let answer = serde_json::json!({ "outcome": "error", "error": why });
                output::say(|out, _| Ok(writeln!(out, "{answer}")?))?;
            }
            let why = why.trim_start_matches("denied: ");
            return Err(Failure::Input(format!("denied: {why}")));
        }
    };
    if args.asker.json {
        let answer = serde_json::to_string(outcome.request())?;
        output::line(&answer)?;
    } else {
        output::line(&said(&outcome))?;
    }
    Ok(if outcome.is_approved() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reports on standard error that a person was asked; standard output has only the decision.
fn waits(request: &RequestRecord) {
    let words = page::safe(&request.phrase, 60);
    let tier = page::safe(&request.tier, 12);
    // If standard error is closed, there is no way to report it.
    let _ = writeln!(io::stderr(), "waiting for approval: {words} ({tier})");
}

/// The decision in one line.
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
        Outcome::Expired(_) => "expired: not answered in time; the call is not approved".to_owned(),
        Outcome::Cancelled(_) => "cancelled".to_owned(),
    }
}

/// Runs `countersign cancel`.
pub fn cancel(args: &args::Cancel) -> Result<ExitCode, Failure> {
    let agent = reach::agent(&args.asker)?;
    let id = meant(&agent, &args.request)?;
    let after = agent.cancel(&id)?;
    if args.asker.json {
        return output::json(&after);
    }
    output::line(&format!("{}: cancelled", page::safe(&after.phrase, 60)))
}

fn meant(agent: &AgentClient, text: &str) -> Result<String, Failure> {
    if text.len() == 26 && !text.contains('-') {
        return Ok(text.to_owned());
    }
    let mut waiting = agent.list(Some(RequestStatus::Pending))?;
    waiting.retain(|request| find_request::fits(request, text));
    find_request::one(&waiting, text)
}
