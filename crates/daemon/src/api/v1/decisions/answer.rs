//! An answer applied to a request: digest, edit, passkey and the person's standing.

use countersign_json::canonical::{CallDigest, Digest};
use countersign_store::{Store as _, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_workflow::assurance::Assurance;
use countersign_workflow::request::{ApprovalScope, Choice, Event, TransitionError};
use serde_json::json;

use super::edit::AssessedEdit;
use crate::api::{Api, ApiProblem, StepUpProof, authenticate, passkey_signature};
use crate::auth::PersonIdentity;
use crate::passkeys::{Assertion, Purpose, SignedDecision};

/// Denies a request for a person who authenticated with this request.
pub async fn deny(api: &Api, person: String, id: Id) -> Result<StoredRequest, ApiProblem> {
    let stored = find(api, id).await?;
    let standing = api.standing(&person);
    let event = Event::Answer {
        person,
        choice: Choice::Deny,
        scope: ApprovalScope::Once,
        seen: stored.request.digest,
        edited: None,
        channel: authenticate::WEB.to_owned(),
        reason: String::new(),
        word: String::new(),
        standing: (standing, api.gate.rules().needs),
    };
    Ok(api.gate.decide(id, event, api.gate.note()).await?.stored)
}

/// A person's answer, after all fields were read.
pub struct PersonAnswer {
    pub choice: Choice,
    /// For how long an approval counts.
    pub scope: ApprovalScope,
    pub seen: Option<Digest>,
    pub reason: String,
    /// The word that the person typed from the call's two words.
    pub word: String,
    pub edit: Option<AssessedEdit>,
    pub signed: Option<Assertion>,
    /// The proof for a grant that comes with the answer.
    pub proof: Option<StepUpProof>,
}

/// The request, or a problem document that it does not exist.
pub async fn find(api: &Api, id: Id) -> Result<StoredRequest, ApiProblem> {
    let stored = api.gate.store().request(id).await?;
    stored.ok_or_else(|| ApiProblem::not_found("request not found"))
}

/// Applies an answer to a request.
pub async fn answer(
    api: &Api,
    identity: &PersonIdentity,
    stored: &StoredRequest,
    given: PersonAnswer,
) -> Result<StoredRequest, ApiProblem> {
    let seen = call_seen(given.choice, given.seen, stored)?;
    let mut facts = given.edit.as_ref().map(|edit| edit.facts.clone()).unwrap_or_default();
    facts.extend(given.proof.as_ref().map(StepUpProof::fact));
    let mut standing = api.standing(&identity.person);
    if let Some(signed) = &given.signed {
        let PersonAnswer { choice, scope, .. } = given;
        let digest = decided_call(stored, choice, given.edit.as_ref()).canonical;
        let decided = SignedDecision { request: stored.request.id, digest, choice, scope };
        let kept =
            passkey_signature::signed(api, identity, signed, Purpose::Decide(decided)).await?;
        facts.insert("passkey".to_owned(), kept);
        standing.assurance = Assurance::Passkey;
    }
    let note = WriteContext {
        policy: api.gate.rules().hash,
        facts: (!facts.is_empty()).then(|| json!(facts).to_string()),
        edited: given.edit.as_ref().map(AssessedEdit::record).transpose()?,
    };
    let event = Event::Answer {
        person: identity.person.clone(),
        choice: given.choice,
        scope: given.scope,
        seen,
        edited: given.edit.map(|edit| edit.call),
        channel: identity.channel.clone(),
        reason: given.reason,
        word: given.word,
        standing: (standing, api.gate.rules().needs),
    };
    Ok(api.gate.decide(stored.request.id, event, note).await?.stored)
}

/// The call that an answer decides, as a passkey signs it: the edit that comes with it, or the call
/// that people are asked about. A denial ends the request as the agent made it.
pub fn decided_call(
    stored: &StoredRequest,
    choice: Choice,
    edit: Option<&AssessedEdit>,
) -> CallDigest {
    match (choice, edit) {
        (Choice::Deny, _) => stored.request.digest,
        (Choice::Approve, Some(edit)) => edit.call.digest,
        (Choice::Approve, None) => stored.request.current_digest(),
    }
}

/// The call that an answer is about.
fn call_seen(
    choice: Choice,
    seen: Option<Digest>,
    stored: &StoredRequest,
) -> Result<CallDigest, ApiProblem> {
    let (requested, asked) = (stored.request.digest, stored.request.current_digest());
    match (choice, seen) {
        (Choice::Approve, None) => {
            let what =
                "`digest` is required to approve: send the digest of the call that was shown";
            Err(ApiProblem::bad_request(what))
        }
        // A denial without a digest denies the request; a denial that names another call does not.
        (Choice::Deny, Some(seen)) if seen != asked.canonical && seen != requested.canonical => {
            Err(TransitionError::DigestMismatch.into())
        }
        (_, Some(seen)) => Ok(CallDigest { canonical: seen, ..asked }),
        (Choice::Deny, None) => Ok(asked),
    }
}
