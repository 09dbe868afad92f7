//! The freeze: any person stops every call; ending it takes a fresh proof and two steps.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::freeze::FreezeStage;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/freeze", get(show).post(freeze)).route("/v1/thaw", post(thaw))
}

fn document(api: &Api) -> Value {
    let freeze = api.gate.freeze_state().current();
    json!({
        "stage": freeze.as_ref().map(|freeze| freeze.stage.label()),
        "by": freeze.as_ref().map(|freeze| &freeze.by),
        "since": freeze.as_ref().map(|freeze| freeze.since),
    })
}

async fn show(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    Ok(axum::Json(document(&api)).into_response())
}

/// `POST /v1/freeze`: a session is enough, because it only stops calls.
async fn freeze(State(api): State<Api>, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    Fields::new(&fields::parse(&bytes)?)?.finish()?;
    let note = api.gate.note_by(&identity.person);
    let denied = api.gate.freeze(&identity.person, note).await;
    api.announce(format!("{} froze everything: every call is refused.", identity.person));
    denied?;
    Ok(axum::Json(document(&api)).into_response())
}

/// `POST /v1/thaw`: first people decide again, then grants resume.
async fn thaw(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let resume = fields.required_text("resume")?;
    fields.finish()?;
    let (stage, what) = match resume {
        "people" => (FreezeStage::Frozen, "people decide again, grants stay suspended"),
        "grants" => (FreezeStage::GrantsSuspended, "grants are active again"),
        _ => return Err(ApiProblem::bad_request("`resume` must be people or grants")),
    };
    let note = proven.note(&api, &identity.person);
    if api.gate.thaw(stage, &identity.person, note).await?.is_none() {
        return Err(ApiProblem::conflict(match stage {
            FreezeStage::Frozen => "nothing is frozen; people decide already",
            FreezeStage::GrantsSuspended if api.gate.freeze_state().current().is_none() => {
                "nothing is frozen; grants are active already"
            }
            FreezeStage::GrantsSuspended => {
                "grants can resume only after people decide again: countersign thaw people"
            }
        }));
    }
    api.announce(format!("{} thawed a stage of the freeze: {what}.", identity.person));
    Ok(axum::Json(document(&api)).into_response())
}
