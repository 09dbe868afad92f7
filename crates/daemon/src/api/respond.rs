//! `/respond` of the original API: a person answers without the digest that the newer API requires.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use countersign_json::canonical::{CallDigest, Digest};
use countersign_risk::word_pair::word_pair;
use countersign_store::{Store as _, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_workflow::request::{ApprovalScope, Choice, Event};
use serde_json::json;

use super::fields::{self, Fields};
use super::{Api, ApiProblem, ApiResult, authenticate};

/// `POST /respond`: a person answers. The person is the one who authenticated, whatever the body
/// says.
pub async fn respond(State(api): State<Api>, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let id = fields.text("request_id")?.filter(|text| !text.is_empty());
    let approved = fields.boolean("approved")?;
    let (Some(id), Some(approved)) = (id, approved) else {
        return Err(ApiProblem::bad_request("request_id and approved required"));
    };
    let id = Id::parse(id).ok_or_else(|| ApiProblem::not_found("unknown request"))?;
    let stored = api.gate.store().request(id).await?;
    let stored = stored.ok_or_else(|| ApiProblem::not_found("unknown request"))?;
    let standing = (api.standing(&identity.person), api.gate.rules().needs);
    // A client of the original API knows neither the digest nor the words. CRITICAL is never
    // approved without them.
    let original = api.gate.rules().respond_without_word
        && fields.text("digest")?.is_none()
        && stored.request.current_tier() == Tier::High
        && !stored.request.crisis;
    let event = Event::Answer {
        person: identity.person,
        choice: if approved { Choice::Approve } else { Choice::Deny },
        scope: ApprovalScope::Once,
        seen: seen(&fields, &stored, approved && !original)?,
        edited: None,
        channel: identity.channel,
        reason: fields.text("reason")?.unwrap_or_default().to_owned(),
        word: if original { word_of(&stored) } else { fields.text("word")?.unwrap_or_default() }
            .to_owned(),
        standing,
    };
    let note = WriteContext { policy: api.gate.rules().hash, facts: None, edited: None };
    let applied = api.gate.decide(id, event, note).await?;
    let status = applied.stored.request.state.label();
    Ok((StatusCode::OK, axum::Json(json!({ "request_id": id, "status": status }))).into_response())
}

fn word_of(stored: &StoredRequest) -> &'static str {
    word_pair(&stored.request.digest.canonical).first
}

/// The call that the answer is about. The original API has no digest, so an answer without one is
/// about the request as it was asked; approving HIGH and above requires the digest.
fn seen(
    fields: &Fields<'_, '_>,
    stored: &StoredRequest,
    approved: bool,
) -> Result<CallDigest, ApiProblem> {
    let (requested, asked) = (stored.request.digest, stored.request.current_digest());
    let digest = fields.text("digest")?.map(Digest::parse).transpose();
    match digest.map_err(|error| ApiProblem::bad_request(error.to_string()))? {
        Some(canonical) => Ok(CallDigest { canonical, ..asked }),
        None if approved
            && (stored.request.current_tier() >= Tier::High || stored.request.crisis) =>
        {
            Err(ApiProblem::conflict(
                "approving this call requires the `digest` of the call that was shown; approve it in \
                 the inbox, or send `digest` and, for HIGH, `word`",
            ))
        }
        // Where a person edited the call, the original is not what is approved.
        None => Ok(requested),
    }
}
