//! `countersign grants`: list, give and revoke standing permissions.

use std::process::ExitCode;

use countersign_client::{GrantRecord, NewGrant};

use super::args_grants::{GiveArgs, GrantsArgs, GrantsWhat};
use super::credential::PersonSession;
use super::now::{now, relative_time};
use super::{grant_shapes, grants_from, output, page, suggestions};
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
        GrantsWhat::Give(args) => give(args),
        GrantsWhat::Shapes(args) => grant_shapes::shapes(args),
        GrantsWhat::Allow(args) => grant_shapes::allow(args),
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

fn give(args: &GiveArgs) -> Result<ExitCode, Failure> {
    if let Some(file) = &args.from {
        return grants_from::give_from(file, args);
    }
    let shape = match (args.to_self, args.targets.as_slice(), args.conditions.as_slice()) {
        (true, ..) => "to_self",
        (false, [], []) => "action",
        (false, [], _) => "tool_call",
        (false, ..) => "targets",
    };
    let grant = NewGrant {
        shape: shape.to_owned(),
        tool: Some(args.tool.clone()),
        request: None,
        conditions: args.conditions.clone(),
        targets: args.targets.clone(),
        agent: args.agent.clone(),
        session: args.session.clone(),
        minutes: args.minutes,
        uses: args.uses,
        per_hour: args.per_hour,
        spend: args.spend.clone(),
        recipients: args.recipients,
    };
    let given = PersonSession::open_to_change(&args.person)?.create_grant(&grant)?;
    if args.person.json {
        return output::json(&given);
    }
    let id = given.get("id").and_then(serde_json::Value::as_str).unwrap_or("?");
    output::line(&format!("Given: {}", page::safe(id, 60)))
}

fn row(grant: &GrantRecord) -> Vec<String> {
    let what = page::safe(grant.words.as_deref().unwrap_or(&grant.shape), 300);
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
    if let Some(most) = grant.per_hour {
        ends = format!("{ends}, at most {most} an hour");
    }
    for text in &grant.budget_words {
        ends = format!("{ends}, {}", page::safe(text, 200));
    }
    let used = match grant.last_used {
        Some(time) => format!("last used {}", relative_time(time, now())),
        None => "not used yet".to_owned(),
    };
    let by = format!("by {}", page::safe(&grant.made_by, 60));
    vec![page::safe(&grant.id, 60), what, format!("{agent}{session}"), ends, used, by]
}
