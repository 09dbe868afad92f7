//! `countersign grants`: list, give and revoke standing permissions.

use std::process::ExitCode;

use countersign_client::{GrantRecord, NewGrant};

use super::args_people::{GrantsArgs, GrantsWhat};
use super::credential::PersonSession;
use super::now::{now, relative_time};
use super::suggestions;
use super::{output, page};
use crate::failure::Failure;

/// Runs the command.
pub fn run(args: &GrantsArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        GrantsWhat::List { all, person } => {
            let grants = PersonSession::open(person)?.grants(*all)?;
            if person.json {
                return output::json(&grants);
            }
            output::say(|out, _| {
                if grants.is_empty() {
                    return Ok(writeln!(out, "No grants. Every risky call needs approval.")?);
                }
                Ok(page::table(out, &grants.iter().map(row).collect::<Vec<_>>())?)
            })
        }
        GrantsWhat::Give { tool, targets, to_self, agent, session, minutes, uses, person } => {
            let shape = match (to_self, targets.as_slice()) {
                (true, _) => "to_self",
                (false, []) => "action",
                (false, _) => "targets",
            };
            let grant = NewGrant {
                shape: shape.to_owned(),
                tool: tool.clone(),
                targets: targets.clone(),
                agent: agent.clone(),
                session: session.clone(),
                minutes: *minutes,
                uses: *uses,
            };
            let given = PersonSession::open_to_change(person)?.create_grant(&grant)?;
            if person.json {
                return output::json(&given);
            }
            let id = given.get("id").and_then(serde_json::Value::as_str).unwrap_or("?");
            output::line(&format!("Given: {}", page::safe(id, 60)))
        }
        GrantsWhat::Suggestions(args) => suggestions::suggestions(args),
        GrantsWhat::Accept(args) => suggestions::accept(args),
        GrantsWhat::Revoke(args) => {
            PersonSession::open_to_change(&args.person)?.revoke_grant(&args.name)?;
            if args.person.json {
                return output::json(&serde_json::json!({ "id": args.name, "revoked": true }));
            }
            output::line("Revoked.")
        }
    }
}

fn row(grant: &GrantRecord) -> Vec<String> {
    let tool = page::safe(grant.tool.as_deref().unwrap_or("?"), 60);
    let what = match grant.shape.as_str() {
        "exact" => "one exact call".to_owned(),
        "same_question" => "approved for the session".to_owned(),
        "same_program" => {
            let repository = page::safe(grant.repository.as_deref().unwrap_or("?"), 120);
            format!("a program approved for {repository}")
        }
        "action" => format!("{tool} below HIGH"),
        "targets" => format!("{tool} to {}", page::safe(&grant.targets.join(", "), 120)),
        "to_self" => format!("{tool} to the agent's own user"),
        other => page::safe(other, 40),
    };
    let agent = grant.agent.as_deref().map_or("any agent".to_owned(), |name| page::safe(name, 60));
    let session = grant.session.as_deref();
    let session =
        session.map_or(String::new(), |name| format!(", session {}", page::safe(name, 60)));
    let mut ends = match (grant.revoked, grant.expires) {
        (Some(time), _) => format!("revoked {}", relative_time(time, now())),
        (None, Some(time)) => format!("ends {}", relative_time(time, now())),
        (None, None) => "no end".to_owned(),
    };
    if let Some(uses) = grant.uses_left {
        ends = format!("{ends}, {uses} uses left");
    }
    let by = format!("by {}", page::safe(&grant.made_by, 60));
    vec![page::safe(&grant.id, 60), what, format!("{agent}{session}"), ends, by]
}
