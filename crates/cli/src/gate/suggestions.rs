//! `countersign grants suggestions` and `accept`: calls that people approved many times in a row.

use std::collections::HashSet;
use std::process::ExitCode;

use countersign_client::{ExactGrant, Filter, GrantRecord, RequestRecord, RequestStatus};
use countersign_json::canonical::{CallDigest, Digest};
use countersign_workflow::learning::{
    AnsweredCall, ApprovalCounts, RepeatedAnswer, may_suggest, may_suggest_effects,
};
use serde::Serialize;

use super::args_people::{AcceptArgs, SuggestionsArgs};
use super::credential::PersonSession;
use super::now::{now, relative_time};
use super::{output, page};
use crate::engine::{self, Tier};
use crate::failure::Failure;

/// How many requests are read at most, and how many at once.
const MAX_REQUESTS: usize = 20_000;
const PAGE: u32 = 500;

/// A call that could have a grant.
#[derive(Debug, Serialize)]
pub struct GrantSuggestion {
    /// The newest approved request for it.
    pub request: String,
    /// How often people approved it in a row.
    pub approvals: u32,
    /// The agent.
    pub agent: String,
    /// Its tier.
    pub tier: String,
    /// What it does.
    pub brief: String,
    /// When it was approved first and last, as far as was read.
    pub first: countersign_client::Time,
    /// The last time.
    pub last: countersign_client::Time,
    #[serde(skip)]
    digest: CallDigest,
}

/// Lists the suggestions.
pub fn suggestions(args: &SuggestionsArgs) -> Result<ExitCode, Failure> {
    let found = find(&PersonSession::open(&args.person)?, args.approvals)?;
    if args.person.json {
        return output::json(&serde_json::json!({ "suggestions": found }));
    }
    output::say(|out, _| {
        if found.is_empty() {
            let what = "No call was approved often enough in a row";
            return Ok(writeln!(out, "{what} ({} times).", args.approvals)?);
        }
        page::table(out, &found.iter().map(row).collect::<Vec<_>>())?;
        Ok(writeln!(out, "\nEach is for exactly this call. Accept: countersign grants accept ID")?)
    })
}

/// Gives the grant of a suggestion.
pub fn accept(args: &AcceptArgs) -> Result<ExitCode, Failure> {
    let session = PersonSession::open_to_change(&args.person)?;
    let found = find(&session, args.approvals)?;
    let mut fitting = found.iter().filter(|one| one.request.starts_with(&args.request));
    let (Some(one), None) = (fitting.next(), fitting.next()) else {
        let text = "no suggestion has this id; see `countersign grants suggestions`";
        return Err(Failure::at(&args.request, text));
    };
    let given = session.create_exact_grant(&ExactGrant {
        shape: "exact",
        digest: one.digest.canonical.to_string(),
        raw_digest: one.digest.raw.to_string(),
        both_bind: one.digest.both_bind,
        agent: one.agent.clone(),
        minutes: args.minutes,
    })?;
    if args.person.json {
        return output::json(&given);
    }
    let id = given.get("id").and_then(serde_json::Value::as_str).unwrap_or("?");
    output::line(&format!("Given: {}", page::safe(id, 60)))
}

fn row(one: &GrantSuggestion) -> Vec<String> {
    vec![
        page::safe(&one.request, 60),
        page::safe(&one.tier, 12),
        format!("approved {} times in a row", one.approvals),
        format!("last {}", relative_time(one.last, now())),
        page::safe(&one.agent, 24),
        page::safe(&one.brief, 160),
    ]
}

/// The calls that people approved at least so often in a row, the newest first.
fn find(session: &PersonSession, needed: u32) -> Result<Vec<GrantSuggestion>, Failure> {
    let requests = read(session)?;
    let mut counts = ApprovalCounts::default();
    for request in requests.iter().rev() {
        if let Some(answered) = answered(request) {
            counts.note(&answered);
        }
    }
    let granted = session.grants(false)?;
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    for request in &requests {
        let (Some(digest), Some(id)) = (digest(request), request.id.as_deref()) else { continue };
        let approvals = counts.approvals(&request.agent, &digest);
        let is_first = seen.insert((&request.agent, &request.digest, &request.raw_digest));
        if !is_first || approvals < needed.max(1) || is_granted(&granted, request, &digest) {
            continue;
        }
        if !has_harmless_effects(&session.show(id)?) {
            continue;
        }
        let same =
            |other: &&RequestRecord| other.agent == request.agent && other.digest == request.digest;
        let run = requests.iter().filter(same).take(approvals as usize);
        found.push(GrantSuggestion {
            request: id.to_owned(),
            approvals,
            agent: request.agent.clone(),
            tier: request.tier.clone(),
            brief: page::brief(request),
            first: run.last().map_or(request.created, |first| first.created),
            last: request.created,
            digest,
        });
    }
    Ok(found)
}

/// The newest requests of agents, newest first.
fn read(session: &PersonSession) -> Result<Vec<RequestRecord>, Failure> {
    let (mut requests, mut before) = (Vec::new(), None);
    loop {
        let filter = Filter { before, limit: Some(PAGE), ..Filter::default() };
        let page = session.list(&filter)?;
        requests.extend(page.requests.into_iter().filter(|request| request.drill.is_none()));
        before = page.next;
        if before.is_none() || requests.len() >= MAX_REQUESTS {
            return Ok(requests);
        }
    }
}

/// What a person answered. Requests that ended without a person count neither way; an approval of
/// an edited call was for another call, and counts as a denial of this one.
fn answered(request: &RequestRecord) -> Option<AnsweredCall<'_>> {
    let made = request.decision.as_ref().filter(|made| made.by.kind == "people")?;
    let edited = request.edited_arguments.is_some() || request.edited.is_some();
    let answer = match made.result {
        RequestStatus::Approved if !edited => RepeatedAnswer::Approved,
        RequestStatus::Approved | RequestStatus::Denied => RepeatedAnswer::Denied,
        _ => return None,
    };
    Some(AnsweredCall {
        agent: &request.agent,
        digest: digest(request)?,
        tier: Tier::parse(&request.tier).unwrap_or(Tier::Critical),
        crisis: request.crisis,
        answer,
    })
}

fn digest(request: &RequestRecord) -> Option<CallDigest> {
    let canonical = Digest::parse(&request.digest).ok()?;
    let raw = Digest::parse(&request.raw_digest).ok()?;
    Some(CallDigest { canonical, raw, both_bind: request.both_bind })
}

/// Whether an active grant for exactly this call exists.
fn is_granted(granted: &[GrantRecord], request: &RequestRecord, digest: &CallDigest) -> bool {
    granted.iter().any(|grant| {
        let given = grant.digest.as_ref().and_then(|given| given.get("canonical"));
        let same = given.and_then(serde_json::Value::as_str) == Some(&digest.canonical.to_string());
        same && grant.agent.as_ref().is_none_or(|agent| *agent == request.agent)
    })
}

/// Whether the card of a request shows only effects that may be suggested. No card, no suggestion.
fn has_harmless_effects(request: &RequestRecord) -> bool {
    let card = request.card.as_ref().map(ToString::to_string);
    let card = card.and_then(|text| engine::read_card(&text).ok());
    card.is_some_and(|card| {
        may_suggest(card.tier, request.crisis) && may_suggest_effects(card.effects)
    })
}
