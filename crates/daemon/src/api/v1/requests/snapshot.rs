//! Reads what a hook says about the snapshot of a call's files. The gate checks it.

use countersign_json::canonical::Digest;
use countersign_risk::facts::snapshot_claim::SnapshotClaim;

use crate::api::ApiProblem;
use crate::api::fields::Fields;

/// The longest path of a folder.
const MAX_FOLDER: usize = 2_000;
/// The longest id.
const MAX_ID: usize = 64;

/// The claim about a snapshot, if there is one.
pub fn snapshot(fields: &Fields<'_, '_>) -> Result<Option<SnapshotClaim>, ApiProblem> {
    let Some(value) = fields.get("snapshot") else { return Ok(None) };
    let claim = Fields::new(value)?;
    let (folder, id) = (claim.required_text("folder")?, claim.required_text("id")?);
    if !folder.starts_with('/') || folder.len() > MAX_FOLDER {
        return Err(ApiProblem::bad_request("`folder` must be an absolute path"));
    }
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id || id.len() > MAX_ID {
        return Err(ApiProblem::bad_request("`id` must be the id of a snapshot"));
    }
    let digest = |name| {
        let parsed = Digest::parse(claim.required_text(name)?);
        parsed.map_err(|error| ApiProblem::bad_request(format!("`{name}`: {error}")))
    };
    let (digest, proof) = (digest("digest")?, digest("proof")?);
    claim.finish()?;
    Ok(Some(SnapshotClaim { folder: folder.to_owned(), id: id.to_owned(), digest, proof }))
}
