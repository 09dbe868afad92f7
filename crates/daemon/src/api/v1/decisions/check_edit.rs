//! The assessment of an edited call, before anyone approves it.

use axum::extract::Request;
use countersign_json::canonical::Digest;
use countersign_risk::card::Card;
use countersign_types::tier::Tier;
use countersign_workflow::request::TransitionError;

use super::answer::find;
use super::edit::AssessedEdit;
use crate::api::fields::{self, Fields};
use crate::api::v1::requests;
use crate::api::{Api, ApiProblem};

/// An edited call as a person sees it before approving it.
pub struct CheckedEdit {
    /// Its card.
    pub card: Card,
    /// The tier under which it is approved: an edit never lowers it.
    pub tier: Tier,
    /// How many people must approve it.
    pub people: u8,
}

/// The assessment of an edited call. The body names the call that the person was shown.
pub async fn check_edit(
    api: &Api,
    text: &str,
    request: Request,
) -> Result<CheckedEdit, ApiProblem> {
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let (seen, edited) = (digest_of(&fields, "digest")?, fields.get("edited_arguments"));
    fields.finish()?;
    let stored = find(api, requests::id(text)?).await?;
    if seen != Some(stored.request.current_digest().canonical) {
        return Err(TransitionError::DigestMismatch.into());
    }
    let edited = edited.ok_or_else(|| ApiProblem::bad_request("`edited_arguments` is required"))?;
    let AssessedEdit { card, call, .. } = AssessedEdit::new(api, &stored, edited).await?;
    let tier = card.tier.max(stored.request.tier);
    let people = call.quorum.approve.max(stored.request.quorum.approve).max(1);
    Ok(CheckedEdit { card, tier, people })
}

/// The digest in a member of the body.
pub fn digest_of(
    fields: &Fields<'_, '_>,
    name: &'static str,
) -> Result<Option<Digest>, ApiProblem> {
    let digest = fields.text(name)?.map(Digest::parse).transpose();
    digest.map_err(|error| ApiProblem::bad_request(error.to_string()))
}
