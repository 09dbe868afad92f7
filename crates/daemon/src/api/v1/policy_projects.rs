//! Adoption of the rules of a project: after it they may also allow.

use std::path::{Component, Path};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use serde_json::json;

use super::administrator_body::administrator_texts;
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof};

/// The longest name of a folder, in bytes.
const MAX_FOLDER: usize = 4096;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/policy/projects", post(adopt))
        .route("/v1/policy/projects/revoke", post(revoke))
}

/// An administrator adopts the rules in a text for a folder.
async fn adopt(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let (identity, [named, text]) = administrator_texts(&api, request, ["folder", "text"]).await?;
    let folder = folder(&named)?;
    let (person, note) = (&identity.person, proven.note(&api, &identity.person));
    let adopted = api.gate.adopt_project((&folder, &text), person, note).await?;
    let rules = adopted.map_err(ApiProblem::bad_request)?;
    api.announce(format!("{person} adopted the policy rules of {folder} ({rules} rules)."));
    Ok(axum::Json(json!({ "folder": folder, "rules": rules })).into_response())
}

/// An administrator revokes an adoption.
async fn revoke(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let (identity, [named]) = administrator_texts(&api, request, ["folder"]).await?;
    let folder = folder(&named)?;
    let (person, note) = (&identity.person, proven.note(&api, &identity.person));
    if !api.gate.revoke_project(&folder, person, note).await? {
        return Err(ApiProblem::conflict("no rules of this folder are adopted"));
    }
    api.announce(format!("{person} revoked the adoption of the policy rules of {folder}."));
    Ok(axum::Json(json!({ "folder": folder })).into_response())
}

/// A folder as the daemon compares it: absolute, and without parts that lead elsewhere.
fn folder(text: &str) -> Result<String, ApiProblem> {
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    let path = Path::new(text);
    let folder: std::path::PathBuf = path.components().collect();
    let is_shown = !text.chars().any(char::is_control);
    let fits = path.is_absolute() && path.components().all(is_plain) && text.len() <= MAX_FOLDER;
    let folder = folder.to_str().filter(|_| fits && is_shown && text != "/");
    folder.map(str::to_owned).ok_or_else(|| {
        ApiProblem::bad_request("`folder` must be the absolute path of a project's root folder")
    })
}
