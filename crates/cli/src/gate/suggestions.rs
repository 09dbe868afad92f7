//! `countersign grants suggestions` and `accept`: calls that people approved many times in a row.

use std::process::ExitCode;

use countersign_client::{ExactGrant, GrantSuggestionRecord};

use super::args_grants::{AcceptArgs, SuggestionsArgs};
use super::credential::PersonSession;
use super::now::{now, relative_time};
use super::{grant_shapes, output, page};
use crate::failure::Failure;

/// Lists the suggestions.
pub fn suggestions(args: &SuggestionsArgs) -> Result<ExitCode, Failure> {
    let found = PersonSession::open(&args.person)?.grant_suggestions(args.approvals)?;
    if args.person.json {
        return output::json(&found);
    }
    output::say(|out, _| {
        if found.suggestions.is_empty() && found.forms.is_empty() {
            let what = "No call was approved often enough in a row";
            return Ok(writeln!(out, "{what} ({} times).", args.approvals)?);
        }
        if !found.suggestions.is_empty() {
            page::table(out, &found.suggestions.iter().map(row).collect::<Vec<_>>())?;
            let hint = "Each is for exactly this call. Accept: countersign grants accept ID";
            writeln!(out, "\n{hint}")?;
        }
        for form in &found.forms {
            let (id, agent) = (page::safe(&form.request, 60), page::safe(&form.agent, 24));
            writeln!(out, "{id}  {agent}  approved {} times in a row", form.approvals)?;
            grant_shapes::print_shape(out, &form.shape)?;
        }
        if !found.forms.is_empty() {
            writeln!(out, "Accept a form: countersign grants allow ID --pattern 'PATTERN'")?;
        }
        Ok(())
    })
}

/// Gives the grant of a suggestion.
pub fn accept(args: &AcceptArgs) -> Result<ExitCode, Failure> {
    let session = PersonSession::open_to_change(&args.person)?;
    let found = session.grant_suggestions(args.approvals)?;
    let mut fitting = found.suggestions.iter().filter(|one| one.request.starts_with(&args.request));
    let (Some(one), None) = (fitting.next(), fitting.next()) else {
        let text = "no suggestion has this id; see `countersign grants suggestions`";
        return Err(Failure::at(&args.request, text));
    };
    let given = session.create_exact_grant(&ExactGrant {
        shape: "exact",
        digest: one.digest.clone(),
        raw_digest: one.raw_digest.clone(),
        both_bind: one.both_bind,
        request: one.request.clone(),
        agent: one.agent.clone(),
        minutes: args.minutes,
    })?;
    if args.person.json {
        return output::json(&given);
    }
    let id = given.get("id").and_then(serde_json::Value::as_str).unwrap_or("?");
    output::line(&format!("Given: {}", page::safe(id, 60)))
}

fn row(one: &GrantSuggestionRecord) -> Vec<String> {
    vec![
        page::safe(&one.request, 60),
        page::safe(&one.tier, 12),
        format!("approved {} times in a row", one.approvals),
        format!("last {}", relative_time(one.last, now())),
        page::safe(&one.agent, 24),
        page::safe(&one.call, 600),
    ]
}
