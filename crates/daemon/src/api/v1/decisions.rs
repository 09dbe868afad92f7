//! Decisions: a person answers, one request or several.

use std::borrow::Cow;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_json::Value;
use countersign_json::canonical::{CallDigest, Digest, canonical};
use countersign_redact::redact_value;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::call_digest::digest;
use countersign_risk::card::Card;
use countersign_risk::context::{Context, Environment, Platform};
use countersign_risk::tools;
use countersign_store::{EditRecord, Store as _, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Span};
use countersign_workflow::assurance::Assurance;
use countersign_workflow::grant::{Grant, Shape};
use countersign_workflow::request::{Choice, EditedCall, Event, Refusal, State as RequestState};
use serde_json::json;

use super::{passkeys, requests};
use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, step_up, who};
use crate::auth::Who;
use crate::chance;
use crate::drills;
use crate::passkeys::{Assertion, Decided, Purpose};

/// The longest reason that is kept.
const LONGEST_REASON: usize = 2000;
/// A grant lasts a month at most.
const LONGEST_GRANT: u32 = 43_200;
/// How long a grant for a session lasts if nobody says how long.
const SESSION_MINUTES: u32 = 720;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/requests/{id}/challenge", post(challenge))
        .route("/v1/requests/{id}/edit", post(edit))
        .route("/v1/requests/{id}/decision", post(decide))
        .route("/v1/decisions", post(decide_several))
}

/// How an edited call is judged: its card, before anybody approves it.
async fn edit(State(api): State<Api>, Path(text): Path<String>, request: Request) -> Answered {
    who::person(&api, request.headers())?;
    Ok(axum::Json(check_edit(&api, &text, request).await?).into_response())
}

/// The card of an edited call. The body names the call that the person was shown.
pub async fn check_edit(api: &Api, text: &str, request: Request) -> Result<Card, Problem> {
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let (seen, edited) = (seen(&said)?, said.get("edited_arguments"));
    said.finish()?;
    let stored = find(api, requests::id(text)?).await?;
    if seen != Some(stored.request.digest.canonical) {
        return Err(Refusal::NotThisCall.into());
    }
    let edited = edited.ok_or_else(|| Problem::bad("`edited_arguments` is required"))?;
    Edit::new(api, &stored, edited).map(|edit| edit.card)
}

/// What a passkey has to sign for an answer. The body is that of the answer.
async fn challenge(State(api): State<Api>, Path(text): Path<String>, request: Request) -> Answered {
    let who = who::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let (choice, _, seen) = (choice(&said)?, reason(&said)?, seen(&said)?);
    let (edited, _) = (said.get("edited_arguments"), said.get("grant"));
    let checked = digest_of(&said, "edited_digest")?;
    said.finish()?;
    let stored = find(&api, requests::id(&text)?).await?;
    let asked = stored.request.digest.canonical;
    // Whoever signs must have been shown the call that is asked about.
    if seen != Some(asked) {
        return Err(Refusal::NotThisCall.into());
    }
    let edit = Edit::checked(&api, &stored, edited, checked)?;
    let digest = edit.map_or(asked, |edit| edit.call.digest.canonical);
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
    let checked = digest_of(&said, "edited_digest")?;
    let wanted = said.get("grant").map(Wish::read).transpose()?;
    let signed = said.get("passkey").map(passkeys::assertion).transpose()?;
    said.finish()?;
    let id = requests::id(&text)?;
    let stored = find(&api, id).await?;
    if choice == Choice::Deny && (edited.is_some() || wanted.is_some()) {
        return Err(Problem::bad("a denial has no edit and gives no grant"));
    }
    if edited.is_some() && wanted.is_some() {
        return Err(Problem::bad("an edited call is approved once: it gives no grant"));
    }
    if wanted.is_some() && stored.request.quorum.approve > 1 {
        return Err(Problem::conflict(
            "this call needs several people: one of them gives no grant",
        ));
    }
    let edit = Edit::checked(&api, &stored, edited, checked)?;
    let mut note = api.note_by(&who.person);
    if wanted.as_ref().is_some_and(Wish::needs_step_up) {
        note = step_up::prove(&api, &who, &parts, &bytes).await?.note(&api, &who.person);
    }
    let grant = wanted.map(|wish| wish.grant(&api, &stored, &who)).transpose()?;
    let applied = {
        let said = Said { choice, seen, reason, edit, signed };
        answer(&api, &who, &stored, said).await?
    };
    // A drill gives nothing, and neither does an answer that did not approve the call.
    let approved = applied.request.state == RequestState::Approved;
    let grant = grant.filter(|_| approved && !stored.request.requester.is_drill());
    if let Some(grant) = &grant {
        api.gate.store().create_grant(grant.clone(), note).await?;
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
pub async fn deny(api: &Api, person: String, id: Id) -> Result<StoredRequest, Problem> {
    let stored = find(api, id).await?;
    let standing = api.standing(&person);
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
fn stands_alone(stored: &StoredRequest) -> bool {
    stored.request.tier == Tier::Critical || stored.request.crisis
}

struct Said {
    choice: Choice,
    seen: Option<Digest>,
    reason: String,
    edit: Option<Edit>,
    signed: Option<Assertion>,
}

async fn find(api: &Api, id: Id) -> Result<StoredRequest, Problem> {
    let stored = api.gate.store().request(id).await?;
    stored.ok_or_else(|| Problem::not_found("there is no such request"))
}

async fn answer(
    api: &Api,
    who: &Who,
    stored: &StoredRequest,
    said: Said,
) -> Result<StoredRequest, Problem> {
    let asked = stored.request.digest;
    let seen = match (said.choice, said.seen) {
        (Choice::Approve, None) => {
            let what =
                "`digest` is required to approve: send the digest of the call that was shown";
            return Err(Problem::bad(what));
        }
        // A denial without a digest denies the request; one that names another call does not.
        (Choice::Deny, Some(seen)) if seen != asked.canonical => {
            return Err(Refusal::NotThisCall.into());
        }
        (_, Some(seen)) => CallDigest { canonical: seen, ..asked },
        (Choice::Deny, None) => asked,
    };
    let mut facts = said.edit.as_ref().map(|edit| edit.facts.clone()).unwrap_or_default();
    let mut standing = api.standing(&who.person);
    if let Some(signed) = &said.signed {
        let runs = said.edit.as_ref().map_or(asked, |edit| edit.call.digest).canonical;
        let request = stored.request.id;
        let decided = Decided { request, digest: runs, choice: said.choice };
        let kept = passkeys::signed(api, who, signed, Purpose::Decide(decided)).await?;
        facts.insert("passkey".to_owned(), kept);
        standing.assurance = Assurance::Passkey;
    }
    let note = WriteContext {
        policy: api.gate.rules().hash,
        facts: (!facts.is_empty()).then(|| json!(facts).to_string()),
        edited: said.edit.as_ref().map(Edit::record).transpose()?,
    };
    let needs = api.gate.rules().needs;
    let event = Event::Answer {
        person: who.person.clone(),
        choice: said.choice,
        seen,
        edited: said.edit.map(|edit| edit.call),
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
    digest_of(said, "digest")
}

fn digest_of(said: &Fields<'_, '_>, name: &'static str) -> Result<Option<Digest>, Problem> {
    let digest = said.text(name)?.map(Digest::parse).transpose();
    digest.map_err(|error| Problem::bad(error.to_string()))
}

/// The call as a person changed it.
struct Edit {
    call: EditedCall,
    arguments: String,
    facts: serde_json::Map<String, serde_json::Value>,
    card: Card,
}

impl Edit {
    /// The edit of an answer. The answer names the digest of the edited call, which the person saw
    /// judged: nobody approves an edit whose assessment was not shown.
    fn checked(
        api: &Api,
        stored: &StoredRequest,
        edited: Option<&Value<'_>>,
        checked: Option<Digest>,
    ) -> Result<Option<Edit>, Problem> {
        let Some(arguments) = edited else {
            return match checked {
                None => Ok(None),
                Some(_) => Err(Problem::bad("`edited_digest` needs `edited_arguments`")),
            };
        };
        let edit = Edit::new(api, stored, arguments)?;
        match checked {
            Some(digest) if digest == edit.call.digest.canonical => Ok(Some(edit)),
            Some(_) => Err(Problem::conflict(
                "the edited arguments are not the call that was checked; check the edit again",
            )),
            None => Err(Problem::bad(
                "`edited_digest` is required to approve an edited call: check the edit with \
                 POST /v1/requests/{id}/edit and send the digest of the answer",
            )),
        }
    }

    /// What the store keeps of it.
    fn record(&self) -> Result<EditRecord, Problem> {
        let card = serde_json::to_string(&self.card);
        let card = card.map_err(|error| Problem::bad(error.to_string()))?;
        Ok(EditRecord { arguments: self.arguments.clone(), card })
    }

    fn new(api: &Api, stored: &StoredRequest, arguments: &Value<'_>) -> Result<Edit, Problem> {
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
        // An edit can make a call graver than the one that was asked for: it is judged as if the
        // agent had asked for it, and core approves it under the graver of the two.
        let (seen, crisis) = api.gate.judge_edit(&call)?;
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
        let card = Card::new(&call, &seen, &digest);
        let quorum = api.gate.rules().quorum.of(seen.tier, crisis);
        let call = EditedCall { digest, tier: seen.tier, crisis, quorum };
        Ok(Edit { call, arguments, facts, card })
    }
}

/// A grant that a person wants to give with an approval.
struct Wish {
    exact: bool,
    session: bool,
    minutes: u32,
}

impl Wish {
    /// A grant for the very call that is approved, in this session and at most half a day, lets
    /// nothing happen that the same person could not approve again. Every other grant is a power.
    fn needs_step_up(&self) -> bool {
        !(self.exact && self.session && self.minutes <= SESSION_MINUTES)
    }

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
            None if session => Some(SESSION_MINUTES),
            None => None,
            Some(digits) => digits.parse().ok(),
        };
        said.finish()?;
        let minutes = minutes.filter(|minutes| (1..=LONGEST_GRANT).contains(minutes));
        let minutes = minutes
            .ok_or_else(|| Problem::bad(format!("`grant.minutes` must be 1 to {LONGEST_GRANT}")))?;
        Ok(Wish { exact, session, minutes })
    }

    fn grant(&self, api: &Api, stored: &StoredRequest, who: &Who) -> Result<Grant, Problem> {
        let request = &stored.request;
        if request.tier == Tier::Critical || request.crisis {
            return Err(Problem::conflict("no grant covers CRITICAL calls or calls in a crisis"));
        }
        if !self.exact && request.tier >= Tier::High {
            return Err(Problem::conflict("a grant by name covers nothing from HIGH up"));
        }
        if !self.exact && tools::runs_programs(&stored.tool, &Value::Object(Vec::new())) {
            return Err(Problem::conflict(
                "this tool runs commands: a grant for all of them is not given, approve this \
                 exact call instead",
            ));
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
            id: chance::id(now).map_err(|_| Problem::from(crate::gate::Rejection::NoChance))?,
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
