//! `countersign grants shapes` and `allow`: grants for commands and tool calls like that of a
//! request.

use std::io::{self, Write};
use std::process::ExitCode;

use countersign_client::{NewCommandGrant, NewGrant, ShapeProposalRecord};

use super::args_grants::{AllowArgs, ShapesArgs};
use super::credential::PersonSession;
use super::find_request::{self, RequestSearch};
use super::now::{now, relative_time};
use super::{output, page};
use crate::failure::Failure;

/// Shows which grants could be given for a request, and what each would also allow.
pub fn shapes(args: &ShapesArgs) -> Result<ExitCode, Failure> {
    let session = PersonSession::open(&args.person)?;
    let id = request_id(&session, &args.request)?;
    let found = session.grant_shapes(&id, args.pattern.as_deref())?;
    if args.person.json {
        return output::json(&found);
    }
    output::say(|out, _| {
        if let Some(why) = &found.why_none {
            writeln!(out, "{}", page::safe(why, 300))?;
        }
        for shape in &found.shapes {
            print_shape(out, shape)?;
        }
        Ok(())
    })
}

/// One shape, with what it would also allow.
pub(super) fn print_shape(out: &mut dyn Write, shape: &ShapeProposalRecord) -> io::Result<()> {
    let history = &shape.also_allows;
    writeln!(out, "{} (up to {})", page::safe(&shape.words, 400), page::safe(&shape.tier, 12))?;
    if history.denied > 0 {
        writeln!(out, "  WARNING: people denied calls that it would allow: {}.", history.denied)?;
    }
    writeln!(out, "  Approved calls that it would have allowed: {}.", history.approved)?;
    for example in &history.examples {
        let answer = if example.denied { "DENIED" } else { "approved" };
        let when = relative_time(example.at, now());
        writeln!(out, "    {answer}  {}  {when}", page::safe(&example.command, 300))?;
    }
    Ok(())
}

/// Gives a grant for commands of one form, or for calls of a tool with conditions.
pub fn allow(args: &AllowArgs) -> Result<ExitCode, Failure> {
    let session = PersonSession::open_to_change(&args.person)?;
    let id = request_id(&session, &args.request)?;
    let found = session.grant_shapes(&id, args.pattern.as_deref())?;
    let agent = (!args.any_agent).then_some(found.agent);
    let given = match &args.pattern {
        Some(pattern) => session.create_command_grant(&NewCommandGrant {
            shape: "command",
            request: id,
            pattern: pattern.clone(),
            agent,
            minutes: args.minutes,
            uses: args.uses,
            per_hour: args.per_hour,
        })?,
        None => session.create_grant(&NewGrant {
            shape: "tool_call".to_owned(),
            request: Some(id),
            conditions: args.conditions.clone(),
            agent,
            minutes: args.minutes,
            uses: args.uses,
            per_hour: args.per_hour,
            spend: args.spend.clone(),
            recipients: args.recipients,
            ..NewGrant::default()
        })?,
    };
    if args.person.json {
        return output::json(&given);
    }
    let text = |name: &str| given.get(name).and_then(serde_json::Value::as_str).unwrap_or("?");
    output::line(&format!(
        "Given: {} for {}",
        page::safe(text("id"), 60),
        page::safe(text("words"), 400)
    ))
}

fn request_id(session: &PersonSession, text: &str) -> Result<String, Failure> {
    let found = find_request::find(session, text, RequestSearch::All)?;
    found.id.ok_or_else(|| Failure::at(text, "this request has no id"))
}
