//! `countersign crises`: sessions in which somebody may be in crisis.

use std::process::ExitCode;

use super::args::CrisesWhat;
use super::credential::Session;
use super::now::{apart, now};
use super::{args, house, page};
use crate::failure::Failure;
use crate::terminal::CRISIS;

/// Runs the command.
pub fn run(args: &args::Crises) -> Result<ExitCode, Failure> {
    match &args.what {
        CrisesWhat::List(args) => {
            let crises = Session::open(&args.person)?.crises()?;
            if args.person.json {
                return house::json(&crises);
            }
            house::say(|out, paint| {
                if crises.is_empty() {
                    return Ok(writeln!(out, "No session is in crisis context.")?);
                }
                for crisis in &crises {
                    let since = crisis.since.map_or(String::new(), |time| apart(time, now()));
                    let danger = if crisis.imminent { ", danger may be near" } else { "" };
                    let (agent, session) =
                        (page::safe(&crisis.agent, 80), page::safe(&crisis.session, 80));
                    let line =
                        format!("{agent}  {session}  level {}{danger}  {since}", crisis.level);
                    writeln!(out, "{}", paint.with(CRISIS, line))?;
                }
                Ok(())
            })
        }
        CrisesWhat::Lift { agent, session, reason, person } => {
            Session::open_to_change(person)?.lift_crisis(agent, session, reason)?;
            if person.json {
                let answer = serde_json::json!({
                    "agent": agent, "session": session, "lifted": true,
                });
                return house::json(&answer);
            }
            house::line("Lifted. The session is treated as any other again.")
        }
    }
}
