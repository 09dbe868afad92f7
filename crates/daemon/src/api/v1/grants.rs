//! Grants: standing permissions, given by administrators and revoked by any person.

mod budget;
mod from_request;
mod members;
mod tool_call;
mod useful;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{delete, get};
use countersign_json::Value;
use countersign_json::canonical::{CallDigest, Digest};
use countersign_store::{Store as _, StoredRequest};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Millis};
use countersign_workflow::grant::{Grant, GrantDetails, GrantShape};
use serde::Deserialize;
use serde_json::json;

use super::grant_shapes::stored_request;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::gate::Rejection;
use crate::random;

pub use from_request::call_text;
use members::{MAX_NAME, integer, tool_name};

/// A grant lasts at most 30 days, which is also the default.
const MAX_MINUTES: u32 = 43_200;
const MAX_USES: u32 = 1_000_000;
const MAX_TARGETS: usize = 100;
const MAX_TARGET: usize = 320;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/grants", get(list).post(give)).route("/v1/grants/{id}", delete(revoke))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantsQuery {
    #[serde(default)]
    all: bool,
}

async fn list(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: Result<Query<GrantsQuery>, QueryRejection>,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let Query(GrantsQuery { all }) =
        asked.map_err(|error| ApiProblem::bad_request(error.body_text()))?;
    let grants = api.gate.store().grants(all).await?;
    let wanted = |grant: &&Grant| all || in_force(&api, grant);
    let list: Vec<_> = grants.iter().filter(wanted).map(|grant| document(&api, grant)).collect();
    Ok(axum::Json(json!({ "grants": list })).into_response())
}

fn in_force(api: &Api, grant: &Grant) -> bool {
    api.gate.grants().in_force(grant, api.gate.clock().now().at)
}

/// The grant, whether it is active, and its name in decisions if it has one.
fn document(api: &Api, grant: &Grant) -> serde_json::Value {
    let mut document = json!(grant);
    if let Some(members) = document.as_object_mut() {
        members.insert("in_force".to_owned(), json!(in_force(api, grant)));
        members.insert("name".to_owned(), json!(api.gate.grants().name(grant.id)));
        members.insert("words".to_owned(), json!(grant.words()));
        members.insert("budget_words".to_owned(), json!(grant.budget_words()));
    }
    document
}

async fn give(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let stored = match value.get("request").and_then(Value::as_str) {
        Some(id) => Some(stored_request(&api, id).await?),
        None => None,
    };
    let grant = new_grant(&api, &value, stored.as_ref(), &identity.person)?;
    let note = proven.note(&api, &identity.person);
    api.gate.store().create_grant(grant.clone(), note).await?;
    api.gate.grants().add(grant.clone());
    Ok((StatusCode::CREATED, axum::Json(document(&api, &grant))).into_response())
}

/// The grant that a person asks for.
fn new_grant(
    api: &Api,
    value: &Value<'_>,
    stored: Option<&StoredRequest>,
    person: &str,
) -> Result<Grant, ApiProblem> {
    let fields = Fields::new(value)?;
    let (shape, shown) = match fields.required_text("shape")? {
        "command" => {
            fields.required_text("request")?;
            (from_request::command_shape(stored, fields.required_text("pattern")?)?, None)
        }
        "exact" => {
            fields.text("request")?;
            let digest = digest(&fields)?;
            (GrantShape::Exact { digest }, from_request::exact_text(stored, &digest)?)
        }
        "tool_call" => (tool_call::shape(api, &fields, stored)?, None),
        _ => (shape_by_tool(&fields)?, None),
    };
    let (agent, session) = agent_and_session(api, &fields)?;
    let minutes = integer(&fields, "minutes", MAX_MINUTES)?.unwrap_or(MAX_MINUTES);
    let uses_left = integer(&fields, "uses", MAX_USES)?;
    let per_hour = integer(&fields, "per_hour", MAX_USES)?;
    let budget = budget::budget(&fields, &shape)?;
    fields.finish()?;
    useful::check_useful(api, &shape)?;
    let now = api.gate.clock().now().at;
    Ok(Grant {
        id: random::id(now).map_err(|_| ApiProblem::from(Rejection::EntropyUnavailable))?,
        shape,
        agent,
        session,
        made_by: person.to_owned(),
        made_at: now,
        expires: Some(now.plus(Millis::from_seconds(minutes.saturating_mul(60)))),
        uses_left,
        revoked: None,
        details: GrantDetails { shown, per_hour, budget, ..GrantDetails::default() },
    })
}

fn shape_by_tool(fields: &Fields<'_, '_>) -> Result<GrantShape, ApiProblem> {
    match fields.required_text("shape")? {
        "action" => Ok(GrantShape::Action { tool: tool_name(fields)? }),
        "to_self" => Ok(GrantShape::ToSelf { tool: tool_name(fields)? }),
        "targets" => {
            let tool = tool_name(fields)?;
            Ok(GrantShape::Targets { tool, targets: targets(fields.list("targets")?)? })
        }
        _ => Err(ApiProblem::bad_request(
            "`shape` must be exact, command, tool_call, action, targets or to_self",
        )),
    }
}

fn digest(fields: &Fields<'_, '_>) -> Result<CallDigest, ApiProblem> {
    let one = |name| {
        let text = fields.required_text(name)?;
        Digest::parse(text).map_err(|error| ApiProblem::bad_request(format!("`{name}`: {error}")))
    };
    let both_bind = fields.boolean("both_bind")?;
    let both_bind = both_bind.ok_or_else(|| ApiProblem::bad_request("`both_bind` is required"))?;
    Ok(CallDigest { canonical: one("digest")?, raw: one("raw_digest")?, both_bind })
}

fn targets(list: Option<&[Value<'_>]>) -> Result<Vec<String>, ApiProblem> {
    let list = list.unwrap_or_default();
    let fits = |text: &&str| (1..=MAX_TARGET).contains(&text.len());
    let texts: Option<Vec<String>> =
        list.iter().map(|text| text.as_str().filter(fits).map(ToOwned::to_owned)).collect();
    texts.filter(|texts| (1..=MAX_TARGETS).contains(&texts.len())).ok_or_else(|| {
        ApiProblem::bad_request(format!("`targets` must be a list of 1 to {MAX_TARGETS} strings"))
    })
}

/// The agent and session of the grant. A session needs an agent, because agents choose their
/// session names.
fn agent_and_session(
    api: &Api,
    fields: &Fields<'_, '_>,
) -> Result<(Option<String>, Option<String>), ApiProblem> {
    let agent = fields.text("agent")?.map(ToOwned::to_owned);
    let session = fields.text("session")?.map(ToOwned::to_owned);
    if let Some(agent) = &agent {
        let uid = agent.strip_prefix("uid:").is_some_and(|uid| uid.parse::<u32>().is_ok());
        if agent != authenticate::ANONYMOUS && !uid && !api.directory.has_agent(agent) {
            return Err(ApiProblem::not_found("agent not found"));
        }
    }
    if session.as_ref().is_some_and(|text| text.is_empty() || text.len() > MAX_NAME) {
        return Err(ApiProblem::bad_request(format!("`session` must have 1 to {MAX_NAME} bytes")));
    }
    if session.is_some() && agent.is_none() {
        return Err(ApiProblem::bad_request("`session` requires `agent`"));
    }
    Ok((agent, session))
}

async fn revoke(
    State(api): State<Api>,
    Path(text): Path<String>,
    proven: StepUpProof,
    headers: HeaderMap,
) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let not_found = || ApiProblem::not_found("grant not found");
    let id = Id::parse(&text).ok_or_else(not_found)?;
    let note = proven.note(&api, &identity.person);
    let revoked = api.gate.store().revoke_grant(id, identity.person, note).await?;
    api.gate.grants().drop(id);
    if !revoked {
        return Err(not_found());
    }
    Ok(axum::Json(json!({ "id": id, "revoked": true })).into_response())
}
