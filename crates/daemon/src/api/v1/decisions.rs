//! Decisions: a person answers, one request or several.

use std::borrow::Cow;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_core::assess::assess;
use countersign_core::assurance::{Assurance, Standing, may_approve};
use countersign_core::call::{Annotations, Call};
use countersign_core::canon::{CallDigest, Digest, canonical, digest};
use countersign_core::context::{Context, Environment, Platform};
use countersign_core::grant::{Grant, Shape};
use countersign_core::id::Id;
use countersign_core::json::Value;
use countersign_core::redact::redact_value;
use countersign_core::request::{Choice, Event, Refusal};
use countersign_core::tier::Tier;
use countersign_core::time::{Clock as _, Span};
use countersign_store::{Note, Store as _, Stored};
use serde_json::json;

use super::{passkeys, requests};
use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, who};
use crate::auth::Who;
use crate::chance;
use crate::drills;
use crate::passkeys::{Assertion, Decided};

/// The longest reason that is kept.
const LONGEST_REASON: usize = 2000;
/// A grant lasts a month at most.
const LONGEST_GRANT: u32 = 43_200;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/requests/{id}/challenge", post(challenge))
        .route("/v1/requests/{id}/decision", post(decide))
        .route("/v1/decisions", post(decide_several))
}

/// What a passkey has to sign for an answer. The body is that of the answer.
async fn challenge(State(api): State<Api>, Path(text): Path<String>, request: Request) -> Answered {
    let who = who::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let (choice, reason, seen) = (choice(&said)?, reason(&said)?, seen(&said)?);
    let (edited, _) = (said.get("edited_arguments"), said.get("grant"));
    said.finish()?;
    let stored = find(&api, requests::id(&text)?).await?;
    let asked = stored.request.digest.canonical;
    // Whoever signs must have been shown the call that is asked about.
    if seen != Some(asked) {
        return Err(Refusal::NotThisCall.into());
    }
    let edit = edited.map(|arguments| Edit::new(&api, &stored, arguments, &reason)).transpose()?;
    let digest = edit.map_or(asked, |edit| edit.digest.canonical);
    let decided = Decided { request: stored.request.id, digest, choice };
    passkeys::ask(&api, &who, &parts.headers, decided)
}

async fn decide(State(api): State<Api>, Path(text): Path<String>, request: Request) -> Answered {
    let who = who::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let choice = choice(&said)?;
    let reason = reason(&said)?;
    let seen = seen(&said)?;
    let edited = said.get("edited_arguments");
    let wanted = said.get("grant").map(Wish::read).transpose()?;
    let signed = said.get("passkey").map(passkeys::assertion).transpose()?;
    said.finish()?;
    let id = requests::id(&text)?;
    let stored = find(&api, id).await?;
    if choice == Choice::Deny && (edited.is_some() || wanted.is_some()) {
        return Err(Problem::bad("a denial has no edit and gives no grant"));
    }
    let edit = edited.map(|arguments| Edit::new(&api, &stored, arguments, &reason)).transpose()?;
    let grant = wanted.map(|wish| wish.grant(&api, &stored, &who)).transpose()?;
    let applied = {
        let said = Said { choice, seen, reason, edit, signed };
        answer(&api, &who, &stored, said).await?
    };
    // A drill gives nothing, whatever was wished for.
    let grant = grant.filter(|_| !stored.request.requester.is_drill());
    if let Some(grant) = &grant {
        let note = Note { policy: api.gate.rules().hash, facts: None, edited: None };
        api.gate.store().give(grant.clone(), note).await?;
        api.gate.grants().add(grant.clone());
    }
    let mut document = requests::for_people(&api, &applied).await?;
    if let (Some(grant), Some(members)) = (grant, document.as_object_mut()) {
        members.insert("grant".to_owned(), json!(grant.id));
    }
    Ok(axum::Json(document).into_response())
}

async fn decide_several(State(api): State<Api>, request: Request) -> Answered {
    const MOST: usize = 500;
    let who = who::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let (choice, reason) = (choice(&said)?, reason(&said)?);
    let list = said.list("requests")?.ok_or_else(|| Problem::bad("`requests` is needed"))?;
    said.finish()?;
    if list.is_empty() || list.len() > MOST {
        return Err(Problem::bad(format!("`requests` must name 1 to {MOST} of them")));
    }
    // Everything is read before anything is decided.
    let mut wanted = Vec::with_capacity(list.len());
    for item in list {
        let item = Fields::of(item)?;
        wanted.push((requests::id(item.needed_text("id")?)?, seen(&item)?));
        item.finish()?;
    }
    let mut results = Vec::with_capacity(wanted.len());
    for (id, seen) in wanted {
        let reason = reason.clone();
        let said = Said { choice, seen, reason, edit: None, signed: None };
        let decided = match find(&api, id).await {
            Ok(stored) if choice == Choice::Approve && stands_alone(&stored) => {
                Err(Problem::conflict(
                    "CRITICAL calls and calls in a crisis are approved one by one, never together",
                ))
            }
            Ok(stored) => answer(&api, &who, &stored, said).await,
            Err(problem) => Err(problem),
        };
        results.push(match decided {
            Ok(stored) => json!({
                "id": id, "state": stored.request.state, "drill": drills::document(&stored),
            }),
            Err(problem) => json!({ "id": id, "state": null, "problem": problem }),
        });
    }
    Ok(axum::Json(json!({ "results": results })).into_response())
}

/// A no from somebody who proved who they are in the same breath.
pub async fn deny(api: &Api, person: String, id: Id) -> Result<Stored, Problem> {
    let stored = find(api, id).await?;
    let standing = Standing::login(api.book.has_passkey(&person));
    let event = Event::Answer {
        person,
        choice: Choice::Deny,
        seen: stored.request.digest,
        edited: None,
        channel: who::WEB.to_owned(),
        reason: String::new(),
        standing: (standing, api.gate.rules().needs),
    };
    Ok(api.gate.decide(id, event, api.note()).await?.stored)
}

/// Whether a yes to it may not be said together with others.
fn stands_alone(stored: &Stored) -> bool {
    stored.request.tier == Tier::Critical || stored.request.crisis
}

struct Said {
    choice: Choice,
    seen: Option<Digest>,
    reason: String,
    edit: Option<Edit>,
    signed: Option<Assertion>,
}

async fn find(api: &Api, id: Id) -> Result<Stored, Problem> {
    let stored = api.gate.store().request(id).await?;
    stored.ok_or_else(|| Problem::not_found("there is no such request"))
}

async fn answer(api: &Api, who: &Who, stored: &Stored, said: Said) -> Result<Stored, Problem> {
    let asked = stored.request.digest;
    let seen = match (said.choice, said.seen) {
        (Choice::Approve, None) => {
            return Err(Problem::bad("`digest` is needed: say which call you were shown"));
        }
        (_, Some(seen)) => CallDigest { canonical: seen, ..asked },
        (Choice::Deny, None) => asked,
    };
    let mut facts = said.edit.as_ref().map(|edit| edit.facts.clone()).unwrap_or_default();
    let mut standing = Standing::login(api.book.has_passkey(&who.person));
    if let Some(signed) = &said.signed {
        let runs = said.edit.as_ref().map_or(asked, |edit| edit.digest).canonical;
        let request = stored.request.id;
        let decided = Decided { request, digest: runs, choice: said.choice };
        let kept = passkeys::signed(api, who, signed, decided).await?;
        facts.insert("passkey".to_owned(), kept);
        standing.assurance = Assurance::Passkey;
    }
    let note = Note {
        policy: api.gate.rules().hash,
        facts: (!facts.is_empty()).then(|| json!(facts).to_string()),
        edited: said.edit.as_ref().map(|edit| edit.arguments.clone()),
    };
    let needs = api.gate.rules().needs;
    if let Some(edit) = &said.edit {
        // An edit can make a call graver than the one that was asked for.
        may_approve(&needs, standing, edit.tier, stored.request.crisis)
            .map_err(Refusal::TooLittle)?;
    }
    let event = Event::Answer {
        person: who.person.clone(),
        choice: said.choice,
        seen,
        edited: said.edit.map(|edit| edit.digest),
        channel: who.channel.clone(),
        reason: said.reason,
        standing: (standing, needs),
    };
    Ok(api.gate.decide(stored.request.id, event, note).await?.stored)
}

fn choice(said: &Fields<'_, '_>) -> Result<Choice, Problem> {
    match said.needed_text("choice")? {
        "approve" => Ok(Choice::Approve),
        "deny" => Ok(Choice::Deny),
        _ => Err(Problem::bad("`choice` must be approve or deny")),
    }
}

fn reason(said: &Fields<'_, '_>) -> Result<String, Problem> {
    let reason = said.text("reason")?.unwrap_or_default();
    if reason.len() > LONGEST_REASON {
        return Err(Problem::bad(format!("a reason may have at most {LONGEST_REASON} bytes")));
    }
    Ok(reason.to_owned())
}

fn seen(said: &Fields<'_, '_>) -> Result<Option<Digest>, Problem> {
    let digest = said.text("digest")?.map(Digest::parse).transpose();
    digest.map_err(|error| Problem::bad(error.to_string()))
}

/// The call as a person changed it.
struct Edit {
    digest: CallDigest,
    arguments: String,
    facts: serde_json::Map<String, serde_json::Value>,
    tier: Tier,
}

impl Edit {
    fn new(
        api: &Api,
        stored: &Stored,
        arguments: &Value<'_>,
        reason: &str,
    ) -> Result<Edit, Problem> {
        if arguments.as_object().is_none() {
            return Err(Problem::bad("`edited_arguments` must be an object"));
        }
        let card: serde_json::Value = serde_json::from_str(&stored.card).unwrap_or_default();
        let count = |name: &str| card.get(name).and_then(serde_json::Value::as_array).map(Vec::len);
        if count("hidden") != Some(0) || stored.request.crisis {
            return Err(Problem::conflict(
                "this call holds secrets that are not shown, so it cannot be edited here",
            ));
        }
        if !redact_value(arguments).1.is_empty() {
            return Err(Problem::bad("the edited call holds a secret; secrets are not kept here"));
        }
        let text = |name: &str| card.get(name).and_then(serde_json::Value::as_str);
        let environment = text("environment").and_then(Environment::parse).unwrap_or_default();
        let call = Call {
            tool: Cow::Borrowed(&stored.tool),
            arguments: arguments.reborrow(),
            agent: Some(Cow::Borrowed(stored.request.requester.name())),
            session: Some(Cow::Borrowed(&stored.session)),
            context: Context {
                platform: Platform::Api,
                environment,
                cwd: text("cwd"),
                ..Context::default()
            },
            annotations: Annotations::default(),
            claimed: None,
        };
        let seen = assess(&call, &api.gate.rules().judgement);
        // An edit can make a call graver than the one that was asked for.
        if seen.tier == Tier::Critical && reason.trim().is_empty() {
            return Err(Refusal::ReasonNeeded.into());
        }
        let arguments = canonical(arguments).text;
        let digest = digest(&call, arguments.as_bytes());
        // The agent reads the edit back as JSON, and would read another number than was approved.
        if digest.both_bind {
            return Err(Problem::bad(
                "a number in it has more digits than programs can hold; write it as a text",
            ));
        }
        let facts = json!({
            "edited": true, "from": stored.request.digest.canonical, "to": digest.canonical,
            "tier": seen.tier,
        });
        let facts = facts.as_object().cloned().unwrap_or_default();
        Ok(Edit { digest, arguments, facts, tier: seen.tier })
    }
}

/// A grant that a person wants to give with an approval.
struct Wish {
    exact: bool,
    session: bool,
    minutes: u32,
}

impl Wish {
    fn read(value: &Value<'_>) -> Result<Wish, Problem> {
        let said = Fields::of(value)?;
        let exact = match said.needed_text("shape")? {
            "exact" => true,
            "action" => false,
            _ => return Err(Problem::bad("`grant.shape` must be exact or action")),
        };
        let session = match said.needed_text("scope")? {
            "session" => true,
            "until" => false,
            _ => return Err(Problem::bad("`grant.scope` must be session or until")),
        };
        let minutes = said.get("minutes").and_then(Value::as_number);
        let minutes = match minutes {
            None if session => Some(720),
            None => None,
            Some(digits) => digits.parse().ok(),
        };
        said.finish()?;
        let minutes = minutes.filter(|minutes| (1..=LONGEST_GRANT).contains(minutes));
        let minutes = minutes
            .ok_or_else(|| Problem::bad(format!("`grant.minutes` must be 1 to {LONGEST_GRANT}")))?;
        Ok(Wish { exact, session, minutes })
    }

    fn grant(&self, api: &Api, stored: &Stored, who: &Who) -> Result<Grant, Problem> {
        let request = &stored.request;
        if request.tier == Tier::Critical || request.crisis {
            return Err(Problem::conflict("no grant covers CRITICAL calls or calls in a crisis"));
        }
        if !self.exact && request.tier >= Tier::High {
            return Err(Problem::conflict("a grant by name covers nothing from HIGH up"));
        }
        if self.session && stored.session.is_empty() {
            return Err(Problem::conflict("the agent named no session"));
        }
        let now = api.gate.clock().now().at;
        let shape = if self.exact {
            Shape::Exact { digest: request.digest }
        } else {
            Shape::Action { tool: stored.tool.clone() }
        };
        Ok(Grant {
            id: chance::id(now).map_err(|_| Problem::from(crate::gate::Held::NoChance))?,
            shape,
            agent: Some(request.requester.name().to_owned()),
            session: self.session.then(|| stored.session.clone()),
            made_by: who.person.clone(),
            made_at: now,
            expires: Some(now.plus(Span::seconds(self.minutes.saturating_mul(60)))),
            uses_left: None,
            revoked: None,
        })
    }
}
