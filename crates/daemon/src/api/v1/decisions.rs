//! Decisions: a person answers, one request or several.

mod answer;
mod check_edit;
mod edit;
mod grant_request;
mod segments;
mod session_scope;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_json::canonical::Digest;
use countersign_store::{Store as _, StoredRequest};
use countersign_workflow::request::{
    ApprovalScope, Choice, State as RequestState, TransitionError,
};
use serde_json::json;

pub use answer::deny;
use answer::{PersonAnswer, answer, decided_call, find};
use check_edit::digest_of;
pub use check_edit::{CheckedEdit, check_edit};
use edit::AssessedEdit;
use grant_request::GrantRequest;
use segments::ChosenParts;

use super::requests;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate, passkey_signature};
use crate::drills;
use crate::passkeys::SignedDecision;

/// The longest reason in bytes.
const MAX_REASON: usize = 2000;
/// The longest typed word in bytes; two words have at most half of this.
const MAX_WORD: usize = 100;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/requests/{id}/challenge", post(challenge))
        .route("/v1/requests/{id}/edit", post(edit))
        .route("/v1/requests/{id}/decision", post(decide))
        .route("/v1/decisions", post(decide_many))
}

/// `POST …/edit`: the assessment of an edited call, before anyone approves it.
async fn edit(State(api): State<Api>, Path(text): Path<String>, request: Request) -> ApiResult {
    authenticate::person(&api, request.headers())?;
    Ok(axum::Json(check_edit(&api, &text, request).await?.card).into_response())
}

/// The challenge that a passkey signs for an answer. The body is that of the answer.
async fn challenge(
    State(api): State<Api>,
    Path(text): Path<String>,
    request: Request,
) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let (choice, _, seen) = (choice(&fields)?, reason(&fields)?, digest_shown(&fields)?);
    word(&fields)?;
    let (edited, _) = (fields.get("edited_arguments"), fields.get("grant"));
    let scope = scope(&fields, choice)?;
    let chosen = ChosenParts::read(&fields, choice)?;
    let checked = digest_of(&fields, "edited_digest")?;
    fields.finish()?;
    let stored = find(&api, requests::id(&text)?).await?;
    // The person must have been shown the call that is asked about.
    if seen != Some(stored.request.current_digest().canonical) {
        return Err(TransitionError::DigestMismatch.into());
    }
    let edit = AssessedEdit::checked(&api, &stored, edited, checked).await?;
    let digest = decided_call(&stored, choice, edit.as_ref()).canonical;
    let digest = chosen.map_or(Ok(digest), |chosen| chosen.digest(&stored))?;
    let decided = SignedDecision { request: stored.request.id, digest, choice, scope };
    passkey_signature::ask(&api, &identity, &parts.headers, decided)
}

async fn decide(State(api): State<Api>, Path(text): Path<String>, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let choice = choice(&fields)?;
    let (reason, word) = (reason(&fields)?, word(&fields)?);
    let seen = digest_shown(&fields)?;
    let edited = fields.get("edited_arguments");
    let checked = digest_of(&fields, "edited_digest")?;
    let scope = scope(&fields, choice)?;
    let chosen = ChosenParts::read(&fields, choice)?;
    let wanted = fields.get("grant").map(GrantRequest::read).transpose()?;
    let signed = fields.get("passkey").map(passkey_signature::assertion).transpose()?;
    fields.finish()?;
    let id = requests::id(&text)?;
    let stored = find(&api, id).await?;
    check_extras(&stored, choice, edited.is_some(), wanted.is_some())?;
    if let Some(chosen) = chosen {
        if edited.is_some() || wanted.is_some() {
            return Err(ApiProblem::bad_request("segments cannot be edited or have a grant"));
        }
        let (edit, proof) = (None, None);
        let given = PersonAnswer { choice, scope, seen, reason, word, edit, signed, proof };
        let denied = chosen.approve(&api, &identity, &stored, given).await?;
        return Ok(axum::Json(requests::for_people(&api, &denied).await?).into_response());
    }
    let is_edit = edited.is_some() || stored.request.proposal.is_some();
    session_scope::check(&stored, scope, is_edit, wanted.is_some())?;
    let edit = AssessedEdit::checked(&api, &stored, edited, checked).await?;
    let proof = grant_request::proof(&api, &identity, wanted.as_ref(), (&parts, &bytes)).await?;
    let grant = wanted.map(|wish| wish.grant(&api, &stored, &identity)).transpose()?;
    let by = &identity.person;
    let note = proof.as_ref().map_or_else(|| api.gate.note_by(by), |proof| proof.note(&api, by));
    let given = PersonAnswer { choice, scope, seen, reason, word, edit, signed, proof };
    let applied = answer(&api, &identity, &stored, given).await?;
    // A drill gives no grant, and neither does an answer that did not approve the call.
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

/// Whether this answer may have an edit or a grant.
fn check_extras(
    stored: &StoredRequest,
    choice: Choice,
    edited: bool,
    grant: bool,
) -> Result<(), ApiProblem> {
    if choice == Choice::Deny && (edited || grant) {
        return Err(ApiProblem::bad_request("a denial cannot have an edit or a grant"));
    }
    if edited && grant {
        return Err(ApiProblem::bad_request(
            "an edited call is approved once and cannot have a grant",
        ));
    }
    if grant && stored.request.approvals_needed() > 1 {
        return Err(ApiProblem::conflict(
            "this call needs several people, so an approval cannot have a grant",
        ));
    }
    Ok(())
}

async fn decide_many(State(api): State<Api>, request: Request) -> ApiResult {
    const MAX_ITEMS: usize = 500;
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let (choice, reason) = (choice(&fields)?, reason(&fields)?);
    let list = fields
        .list("requests")?
        .ok_or_else(|| ApiProblem::bad_request("`requests` is required"))?;
    fields.finish()?;
    if list.is_empty() || list.len() > MAX_ITEMS {
        return Err(ApiProblem::bad_request(format!(
            "`requests` must have 1 to {MAX_ITEMS} items"
        )));
    }
    // All items are read before the first is decided.
    let mut wanted = Vec::with_capacity(list.len());
    for item in list {
        let item = Fields::new(item)?;
        let id = requests::id(item.required_text("id")?)?;
        wanted.push((id, digest_shown(&item)?, word(&item)?));
        item.finish()?;
    }
    let mut results = Vec::with_capacity(wanted.len());
    for (id, seen, word) in wanted {
        let reason = reason.clone();
        let scope = ApprovalScope::Once;
        let (edit, signed, proof) = (None, None, None);
        let fields = PersonAnswer { choice, scope, seen, reason, word, edit, signed, proof };
        let decided = match find(&api, id).await {
            Ok(stored) if choice == Choice::Approve && must_be_alone(&stored) => {
                Err(ApiProblem::conflict(
                    "CRITICAL calls and calls in a crisis must be approved one by one",
                ))
            }
            Ok(stored) => answer(&api, &identity, &stored, fields).await,
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

/// Whether it must be approved on its own.
fn must_be_alone(stored: &StoredRequest) -> bool {
    stored.request.needs_reason()
}

fn choice(fields: &Fields<'_, '_>) -> Result<Choice, ApiProblem> {
    match fields.required_text("choice")? {
        "approve" => Ok(Choice::Approve),
        "deny" => Ok(Choice::Deny),
        _ => Err(ApiProblem::bad_request("`choice` must be approve or deny")),
    }
}

/// For how long an approval counts. A denial has no scope.
fn scope(fields: &Fields<'_, '_>, choice: Choice) -> Result<ApprovalScope, ApiProblem> {
    let Some(text) = fields.text("scope")? else { return Ok(ApprovalScope::Once) };
    let scope = ApprovalScope::parse(text)
        .ok_or_else(|| ApiProblem::bad_request("`scope` must be once, session or repository"))?;
    if choice == Choice::Deny && scope != ApprovalScope::Once {
        return Err(ApiProblem::bad_request("a denial can only have the scope once"));
    }
    Ok(scope)
}

fn reason(fields: &Fields<'_, '_>) -> Result<String, ApiProblem> {
    let reason = fields.text("reason")?.unwrap_or_default();
    if reason.len() > MAX_REASON {
        return Err(ApiProblem::bad_request(format!(
            "`reason` may have at most {MAX_REASON} bytes"
        )));
    }
    Ok(reason.to_owned())
}

/// The word that the person typed. Each item of a list has its own, so that nobody approves several
/// HIGH calls with one.
fn word(fields: &Fields<'_, '_>) -> Result<String, ApiProblem> {
    let word = fields.text("word")?.unwrap_or_default();
    if word.len() > MAX_WORD {
        return Err(ApiProblem::bad_request(format!("`word` may have at most {MAX_WORD} bytes")));
    }
    Ok(word.to_owned())
}

fn digest_shown(fields: &Fields<'_, '_>) -> Result<Option<Digest>, ApiProblem> {
    digest_of(fields, "digest")
}
