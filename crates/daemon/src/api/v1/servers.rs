//! MCP servers: gateways say which tools a server lists, people label the tools.

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_redact::redact_text;
use countersign_risk::call::Annotations;
use countersign_risk::tool_label::ToolLabel;
use countersign_risk::tools::{is_described, mcp_tool_name, suggested_label};
use countersign_store::{ListedTool, Store as _, StoredServer};
use countersign_text::sanitize::sanitize_within;
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use serde_json::json;

use super::requests::check_length;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::gate::{Gate, LabelError, listing_digest};

/// How many tools of a server are stored. The others have no label and are asked about.
const MAX_TOOLS: usize = 256;
/// How many characters of an address and of a description are stored.
const MAX_ADDRESS: usize = 400;
const MAX_DESCRIPTION: usize = 400;
/// The most names of arguments that are read for a suggestion.
const MAX_ARGUMENTS: usize = 64;

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/servers", post(learn))
}

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/servers", get(list))
        .route("/v1/servers/{id}", get(one))
        .route("/v1/servers/{id}/labels", post(label))
}

/// Stores what a server lists. The response has its id and the labels of these definitions.
async fn learn(State(api): State<Api>, request: Request) -> ApiResult {
    authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let (name, address) = (fields.required_text("name")?, fields.required_text("address")?);
    check_length("name", name)?;
    let listed = fields.list("tools")?.unwrap_or_default();
    let count = fields.get("tool_count").and_then(Value::as_number);
    let count = count.and_then(|digits| digits.parse::<u32>().ok());
    fields.finish()?;
    let tools: Vec<(ListedTool, &str)> =
        listed.iter().map(read_tool).collect::<Result<_, ApiProblem>>()?;
    let id = server_id(name, address);
    let labels = |gate: &Gate| -> serde_json::Map<String, serde_json::Value> {
        let label = |tool: &ListedTool, name: &str| {
            gate.tool_labels().label(id, name, &tool.definition).map(ToolLabel::word)
        };
        let found = tools.iter().filter_map(|(tool, name)| Some((*name, label(tool, name)?)));
        found.map(|(name, label)| (name.to_owned(), label.into())).collect()
    };
    let is_unknown = |(_, tool): &&(ListedTool, &str)| !is_described(&mcp_tool_name(name, tool));
    let unknown = tools.iter().filter(is_unknown).take(MAX_TOOLS).map(|(tool, _)| tool.clone());
    let now = api.gate.clock().now().at;
    let server = StoredServer {
        id,
        name: shown(name, MAX_ADDRESS).0,
        address: shown(address, MAX_ADDRESS).0,
        tools: unknown.collect(),
        tool_count: count.unwrap_or_default().max(u32::try_from(tools.len()).unwrap_or(u32::MAX)),
        first_seen: now,
        last_seen: now,
        called: None,
    };
    api.gate.learn_server(server).await?;
    Ok(axum::Json(json!({ "id": id, "labels": labels(&api.gate) })).into_response())
}

/// The id of a server: another command or URL under the same name is another server.
fn server_id(name: &str, address: &str) -> Id {
    let whole = json!(["countersign/server/1", name, address]).to_string();
    let digest = Digest::of(whole.as_bytes());
    let mut id = [0; 16];
    id.iter_mut().zip(digest.as_bytes()).for_each(|(to, from)| *to = *from);
    Id::from_bytes(id)
}

/// A tool as it is stored, and its name as the server wrote it.
fn read_tool<'v>(value: &'v Value<'_>) -> Result<(ListedTool, &'v str), ApiProblem> {
    let fields = Fields::new(value)?;
    let name = fields.required_text("name")?;
    check_length("name", name)?;
    let said = fields.text("description")?.unwrap_or_default();
    let definition = Digest::parse(fields.required_text("definition")?)
        .map_err(|error| ApiProblem::bad_request(format!("`definition`: {error}")))?;
    let hints = fields.get("annotations").map(Fields::new).transpose()?;
    let hint = |name| hints.as_ref().map_or(Ok(None), |hints| hints.boolean(name));
    let annotations = Annotations {
        read_only: hint("readOnlyHint")?,
        destructive: hint("destructiveHint")?,
        idempotent: None,
        open_world: None,
    };
    let arguments = fields.list("arguments")?.unwrap_or_default();
    let arguments: Vec<&str> =
        arguments.iter().filter_map(Value::as_str).take(MAX_ARGUMENTS).collect();
    fields.finish()?;
    let (description, is_deceptive) = shown(said, MAX_DESCRIPTION);
    let deceptive = is_deceptive || shown(name, usize::MAX).0 != name;
    let suggestion = suggested_label(name, annotations, &arguments);
    Ok((ListedTool { name: name.to_owned(), description, definition, suggestion, deceptive }, name))
}

/// A server's text without secrets, safe to show, and whether it hides something.
fn shown(text: &str, limit: usize) -> (String, bool) {
    let redacted = redact_text(text);
    let seen = sanitize_within(&redacted.text, limit);
    (seen.text.into_owned(), seen.deceptive)
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let servers = api.gate.store().servers().await?;
    let list: Vec<_> = servers.iter().map(|server| document(&api.gate, server)).collect();
    Ok(axum::Json(json!({ "servers": list })).into_response())
}

async fn one(State(api): State<Api>, Path(id): Path<String>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let id = Id::parse(&id);
    let servers = api.gate.store().servers().await?;
    let found = servers.iter().find(|server| Some(server.id) == id);
    let found = found.ok_or_else(|| ApiProblem::not_found("server not found"))?;
    Ok(axum::Json(document(&api.gate, found)).into_response())
}

/// The server with the labels of its tools, and the digest of the list.
fn document(gate: &Gate, server: &StoredServer) -> serde_json::Value {
    let tools = server.tools.iter().map(|tool| {
        let label = gate.tool_labels().label(server.id, &tool.name, &tool.definition);
        json!({
            "name": tool.name,
            "description": tool.description,
            "definition": tool.definition,
            "deceptive": tool.deceptive,
            "suggestion": tool.suggestion,
            "label": label,
        })
    });
    json!({
        "id": server.id,
        "name": server.name,
        "address": server.address,
        "listing": listing_digest(server),
        "tools": tools.collect::<Vec<_>>(),
        "tool_count": server.tool_count,
        "first_seen": server.first_seen,
        "last_seen": server.last_seen,
        "called": server.called,
    })
}

/// Labels tools, as a person saw them.
async fn label(
    State(api): State<Api>,
    Path(id): Path<String>,
    proven: StepUpProof,
    request: Request,
) -> ApiResult {
    let identity = authenticate::administrator(&api, request.headers())?;
    let id = Id::parse(&id).ok_or_else(|| ApiProblem::not_found("server not found"))?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let listing = Digest::parse(fields.required_text("listing")?)
        .map_err(|error| ApiProblem::bad_request(format!("`listing`: {error}")))?;
    let labels = fields.list("labels")?.unwrap_or_default();
    fields.finish()?;
    let labels = labels.iter().map(read_label).collect::<Result<Vec<_>, ApiProblem>>()?;
    if labels.is_empty() {
        return Err(ApiProblem::bad_request("`labels` must name at least one tool"));
    }
    let note = proven.note(&api, &identity.person);
    let labelled = api.gate.label_tools(id, listing, labels, (identity.person, note)).await;
    let server = labelled.map_err(|error| match error {
        LabelError::NoServer => ApiProblem::not_found(error.to_string()),
        LabelError::Changed => ApiProblem::conflict(error.to_string()),
        LabelError::NoTool(name) => {
            ApiProblem::bad_request(LabelError::NoTool(shown(&name, 60).0).to_string())
        }
        LabelError::Store(error) => error.into(),
    })?;
    Ok(axum::Json(document(&api.gate, &server)).into_response())
}

/// A tool and its new label; `none` removes the label.
fn read_label(value: &Value<'_>) -> Result<(String, Option<ToolLabel>), ApiProblem> {
    let fields = Fields::new(value)?;
    let (tool, word) = (fields.required_text("tool")?, fields.required_text("label")?);
    fields.finish()?;
    let label = ToolLabel::parse(word);
    if label.is_none() && word != "none" {
        return Err(ApiProblem::bad_request("`label` must be reads, changes, sends, runs or none"));
    }
    Ok((tool.to_owned(), label))
}
