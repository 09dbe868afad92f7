//! Reads a question from JSON and submits it to the gate.

use std::sync::Arc;

use axum::http::HeaderMap;
use countersign_facts::ProjectLook;
use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_redact::redact_text;
use countersign_risk::call::Call;
use countersign_risk::facts::snapshot_claim::SnapshotClaim;
use countersign_risk::tools;
use countersign_risk::verdict::Mode;
use countersign_store::StoredRequest;
use countersign_text::sanitize::sanitize_within;
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Millis};
use serde_json::json;

use super::projects::observed_projects;
use crate::api::fields::{self, Fields};
use crate::api::v1::document;
use crate::api::{Api, ApiProblem};
use crate::gate::{
    CallSubmission, Caller, GateAnswer, JoinOptions, ToolClaim, VERSION_DETAIL, version_label,
};

/// The longest session name, tool name or call id.
const MAX_NAME: usize = 200;

/// The result of a question.
pub enum AskResult {
    /// The call passed; its document.
    Passed(serde_json::Value),
    /// A new request.
    New(Box<StoredRequest>),
    /// An existing request.
    Known(Box<StoredRequest>),
}

/// What a batch adds to a question.
#[derive(Default)]
pub struct AskExtras {
    /// The idempotency key.
    pub key: Option<String>,
    /// The batch.
    pub group: Option<Id>,
    /// Data of the batch that is stored with the request.
    pub batch: Option<serde_json::Value>,
}

/// A question that was read and not submitted yet.
pub struct ParsedQuestion<'v> {
    /// The call.
    pub call: Call<'v>,
    /// Its arguments as received.
    pub raw: &'v str,
    /// The agent's description, safe to show.
    pub description: Option<String>,
    /// How long the agent wants to wait.
    pub time: Option<Millis>,
    /// Whether a permit is needed even if the call passes.
    pub permit: Option<bool>,
    /// How it may join an earlier request for the same call.
    pub join: JoinOptions<'v>,
    /// Which definition of an MCP tool the call uses.
    pub claim: Option<ToolClaim<'v>>,
    /// The snapshot that the hook took of the files that the call changes.
    pub snapshot: Option<SnapshotClaim>,
    /// The version of the agent program: a label for people.
    pub host_version: Option<&'v str>,
    /// The project rules that the caller found.
    pub observed: Option<ProjectLook>,
}

/// Reads a question from its object and the object's text.
pub fn read<'v>(value: &'v Value<'_>, text: &'v str) -> Result<ParsedQuestion<'v>, ApiProblem> {
    let fields = Fields::new(value)?;
    let call = read_call(&fields, value)?;
    let description = fields.text("description")?.map(sanitize_text);
    let time = fields.seconds("timeout_seconds")?.map(fields::span_from_seconds);
    let permit = fields.boolean("permit")?;
    let join = JoinOptions {
        approved: fields.boolean("join")?.unwrap_or(false),
        returns: fields.boolean("returns")?.unwrap_or(false),
        call_id: call_id(&fields)?,
        ignore_grants: fields.boolean("ignore_grants")?.unwrap_or(false),
        entry_only: fields.boolean("entry_only")?.unwrap_or(false),
    };
    let claim = fields.get("mcp_tool").map(read_claim).transpose()?;
    let snapshot = super::snapshot::snapshot(&fields)?;
    let host_version = fields.text("host_version")?.and_then(version_label);
    let observed = observed_projects(&fields)?;
    fields.finish()?;
    let raw = fields.raw_call(text);
    let parsed = ParsedQuestion {
        call,
        raw,
        description,
        time,
        permit,
        join,
        claim,
        snapshot,
        host_version,
        observed,
    };
    Ok(parsed)
}

/// Submits one call, for a single request or a batch.
pub async fn ask(
    api: &Api,
    caller: &Caller,
    mut question: ParsedQuestion<'_>,
    extra: AskExtras,
) -> Result<AskResult, ApiProblem> {
    let label = question.claim.and_then(|claim| api.gate.label_of(&claim, &question.call.tool));
    question.call.context.label = label;
    let is_unknown = label.is_none() && !tools::is_described(&question.call.tool);
    let unlabelled = question.claim.filter(|_| is_unknown).map(|claim| claim.server);
    let session = question.call.session.as_deref().map(ToOwned::to_owned);
    let detail = detail(&question, extra.batch, unlabelled);
    let (detail, before) = (|| detail.to_string(), api.gate.clock().now().at);
    let observed = question.observed.take();
    let projects = api.gate.find_projects(caller, &question.call.context, observed).await;
    let submission = CallSubmission {
        call: question.call,
        projects,
        raw: question.raw.as_bytes(),
        time: question.time,
        key: extra.key,
        group: extra.group,
        permit: question.permit.unwrap_or(false),
        join: question.join,
        snapshot: question.snapshot,
        detail: &detail,
    };
    let answer = api.gate.submit(submission, caller).await?;
    if let (Some(server), GateAnswer::Kept(_)) = (unlabelled, &answer) {
        // The note only shows the server to people: the call is asked about without it, too.
        if let Err(error) = api.gate.note_unlabelled_call(server).await {
            tracing::warn!(%error, "the first call of an MCP server could not be noted");
        }
    }
    Ok(match answer {
        GateAnswer::Passed(passed) => {
            let document = document::passed(&passed, &caller.agent, session.as_deref(), before);
            AskResult::Passed(with_mode(document, api.gate.rules().mode))
        }
        // Created before this submission: the request existed already.
        GateAnswer::Kept(stored) if stored.request.schedule.created < before => {
            AskResult::Known(stored)
        }
        GateAnswer::Kept(stored) => AskResult::New(stored),
    })
}

/// The document, with a note where the gate blocks nothing, whatever the call is.
fn with_mode(mut document: serde_json::Value, mode: Mode) -> serde_json::Value {
    if mode != Mode::Enforce
        && let Some(members) = document.as_object_mut()
    {
        members.insert("observed".to_owned(), true.into());
    }
    document
}

/// The data that is stored with a request.
fn detail(
    question: &ParsedQuestion<'_>,
    batch: Option<serde_json::Value>,
    unlabelled: Option<Id>,
) -> serde_json::Value {
    let mut detail = json!({ "description": question.description });
    if let Some(members) = detail.as_object_mut() {
        members.extend(question.host_version.map(|it| (VERSION_DETAIL.to_owned(), json!(it))));
        members.extend(batch.map(|batch| ("batch".to_owned(), batch)));
        members.extend(unlabelled.map(|server| ("mcp_server".to_owned(), json!(server))));
    }
    detail
}

/// Reads which definition of an MCP tool a call uses.
fn read_claim<'v>(value: &'v Value<'_>) -> Result<ToolClaim<'v>, ApiProblem> {
    let fields = Fields::new(value)?;
    let server = Id::parse(fields.required_text("server")?);
    let server = server.ok_or_else(|| ApiProblem::bad_request("`server` must be an id"))?;
    let tool = fields.required_text("tool")?;
    let definition = Digest::parse(fields.required_text("definition")?)
        .map_err(|error| ApiProblem::bad_request(format!("`definition`: {error}")))?;
    fields.finish()?;
    Ok(ToolClaim { server, tool, definition })
}

/// Reads the call, and marks all members that a call can have as known.
pub fn read_call<'v>(
    fields: &Fields<'v, '_>,
    value: &'v Value<'_>,
) -> Result<Call<'v>, ApiProblem> {
    const MEMBERS: [&str; 19] = [
        "tool",
        "arguments",
        "command",
        "session",
        "platform",
        "cwd",
        "project",
        "host",
        "environment",
        "env",
        "annotations",
        "risk_level",
        "claimed_risk",
        "claimed",
        "agent",
        "facts",
        "facts_observer",
        "facts_proof",
        "project_rules",
    ];
    for member in MEMBERS {
        fields.get(member);
    }
    let mut call =
        Call::from_json(value).map_err(|error| ApiProblem::bad_request(error.to_string()))?;
    call.facts = super::facts::read(fields, &call)?.map(Arc::new);
    check_length("session", call.session.as_deref().unwrap_or_default())?;
    check_length("tool", &call.tool)?;
    check_length("host", call.context.host.unwrap_or_default())?;
    Ok(call)
}

/// The host's id for the call.
pub fn call_id<'v>(fields: &Fields<'v, '_>) -> Result<Option<&'v str>, ApiProblem> {
    let found = fields.text("call_id")?.filter(|text| !text.is_empty());
    check_length("call_id", found.unwrap_or_default())?;
    Ok(found)
}

/// Rejects names that are too long to store.
pub fn check_length(field: &str, text: &str) -> Result<(), ApiProblem> {
    if text.chars().count() > MAX_NAME {
        let detail = format!("`{field}` may have at most {MAX_NAME} characters");
        return Err(ApiProblem::bad_request(detail));
    }
    Ok(())
}

/// The agent's own words: without secrets, and safe to show.
pub fn sanitize_text(text: &str) -> String {
    sanitize_within(&redact_text(text).text, 2000).text.into_owned()
}

/// The key that makes a repeated question the same request.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiProblem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| (1..=128).contains(&key.len()));
    let fits = key.filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()));
    fits.map(|key| Some(key.to_owned())).ok_or_else(|| {
        ApiProblem::bad_request("Idempotency-Key must have 1 to 128 visible ASCII characters")
    })
}
