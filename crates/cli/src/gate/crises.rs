//! `countersign crises`: sessions in crisis.

use std::process::ExitCode;

use super::args_people::{CrisesArgs, CrisesWhat};
use super::credential::PersonSession;
use super::now::{now, relative_time};
use super::{crises_report, output, page};
use crate::failure::Failure;
use crate::terminal::CRISIS;

/// Runs the command.
pub fn run(args: &CrisesArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        CrisesWhat::List(args) => {
            let crises = PersonSession::open(&args.person)?.crises()?;
            if args.person.json {
                return output::json(&crises);
            }
            output::say(|out, paint| {
                if crises.is_empty() {
                    return Ok(writeln!(out, "No session is in crisis.")?);
                }
                for crisis in &crises {
                    let since =
                        crisis.since.map_or(String::new(), |time| relative_time(time, now()));
                    let danger = if crisis.imminent { ", danger may be imminent" } else { "" };
                    let (agent, session) =
                        (page::safe(&crisis.agent, 80), page::safe(&crisis.session, 80));
                    let line =
                        format!("{agent}  {session}  level {}{danger}  {since}", crisis.level);
                    writeln!(out, "{}", paint.with(CRISIS, line))?;
                }
                Ok(())
            })
        }
        CrisesWhat::Report(args) => crises_report::run(args),
        CrisesWhat::TakeOver { agent, session, message, person } => {
            let opened = PersonSession::open_to_change(person)?;
            opened.take_over_crisis(agent, session, message.as_deref())?;
            if person.json {
                let answer = serde_json::json!({
                    "agent": agent, "session": session, "wrote": message.is_some(),
                });
                return output::json(&answer);
            }
            output::line("Taken over. Nothing of the agent is sent until you resolve the crisis.")
        }
        CrisesWhat::Resolve { agent, session, reason, person } => {
            PersonSession::open_to_change(person)?.resolve_crisis(agent, session, reason)?;
            if person.json {
                let answer = serde_json::json!({
                    "agent": agent, "session": session, "lifted": true,
                });
                return output::json(&answer);
            }
            output::line("Resolved. The session is treated as any other again.")
        }
    }
}
