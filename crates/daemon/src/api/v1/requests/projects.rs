//! Reads the project rules that a caller found. They can only restrict, so that they need no proof.

use countersign_facts::{MAX_PROJECT_FILES, ProjectLook};

use crate::api::ApiProblem;
use crate::api::fields::Fields;

/// What the caller found about the projects of a call.
pub fn observed_projects(fields: &Fields<'_, '_>) -> Result<Option<ProjectLook>, ApiProblem> {
    let Some(text) = fields.text("project_rules")? else { return Ok(None) };
    let invalid = |detail: &str| ApiProblem::bad_request(format!("`project_rules` {detail}"));
    let look: ProjectLook = serde_json::from_str(text)
        .map_err(|error| invalid(&format!("must be the JSON text of a look: {error}")))?;
    if look.files.len() > MAX_PROJECT_FILES {
        return Err(invalid(&format!("may have at most {MAX_PROJECT_FILES} files")));
    }
    if look.files.iter().any(|file| !file.is_bounded()) {
        return Err(invalid("has a file that is too large"));
    }
    Ok(Some(look))
}
