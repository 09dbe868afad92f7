//! Reads a question from JSON and submits it to the gate.

use axum::http::HeaderMap;
use countersign_json::Value;
use countersign_redact::redact_text;
use countersign_risk::call::Call;
use countersign_store::StoredRequest;
use countersign_text::sanitize::show_within;
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Span};
use serde_json::json;

use crate::api::fields::{self, Fields};
use crate::api::v1::document;
use crate::api::{Api, ApiProblem};
use crate::gate::{Caller, GateAnswer, JoinOptions, Submission};

/// The longest session name, tool name or call id.
const LONGEST_NAME: usize = 200;

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
    pub time: Option<Span>,
    /// Whether a permit is needed even if the call passes.
    pub permit: Option<bool>,
    /// How it may join an earlier request for the same call.
    pub join: JoinOptions<'v>,
}

/// Reads a question from its object and the object's text.
pub fn read<'v>(value: &'v Value<'_>, text: &'v str) -> Result<ParsedQuestion<'v>, ApiProblem> {
    let said = Fields::new(value)?;
    let call = read_call(&said, value)?;
    let description = said.text("description")?.map(plain_words);
    let time = said.seconds("timeout_seconds")?.map(fields::span_from_seconds);
    let permit = said.boolean("permit")?;
    let join = JoinOptions {
        approved: said.boolean("join")?.unwrap_or(false),
        call_id: call_id(&said)?,
        ignore_grants: said.boolean("ignore_grants")?.unwrap_or(false),
    };
    said.finish()?;
    let raw = said.raw_call(text);
    Ok(ParsedQuestion { call, raw, description, time, permit, join })
}

/// Submits one call, for a single request or a batch.
pub async fn ask(
    api: &Api,
    caller: &Caller,
    wanted: ParsedQuestion<'_>,
    extra: AskExtras,
) -> Result<AskResult, ApiProblem> {
    let session = wanted.call.session.as_deref().map(ToOwned::to_owned);
    let mut detail = json!({ "description": wanted.description });
    if let (Some(batch), Some(members)) = (extra.batch, detail.as_object_mut()) {
        members.insert("batch".to_owned(), batch);
    }
    let detail = || detail.to_string();
    let before = api.gate.clock().now().at;
    let question = Submission {
        call: wanted.call,
        raw: wanted.raw.as_bytes(),
        time: wanted.time,
        key: extra.key,
        group: extra.group,
        permit: wanted.permit.unwrap_or(false),
        join: wanted.join,
        detail: &detail,
    };
    Ok(match api.gate.submit(question, caller).await? {
        GateAnswer::Passed(passed) => {
            let session = session.as_deref();
            AskResult::Passed(document::passed(&passed, &caller.agent, session, before))
        }
        // Created before this submission: the request existed already.
        GateAnswer::Kept(stored) if stored.request.plan.created < before => {
            AskResult::Known(stored)
        }
        GateAnswer::Kept(stored) => AskResult::New(stored),
    })
}

/// Reads the call, and marks all members that a call can have as known.
pub fn read_call<'v>(said: &Fields<'v, '_>, value: &'v Value<'_>) -> Result<Call<'v>, ApiProblem> {
    const MEMBERS: [&str; 13] = [
        "tool",
        "arguments",
        "command",
        "session",
        "platform",
        "cwd",
        "environment",
        "env",
        "annotations",
        "risk_level",
        "claimed_risk",
        "claimed",
        "agent",
    ];
    for member in MEMBERS {
        said.get(member);
    }
    let call =
        Call::from_json(value).map_err(|error| ApiProblem::bad_request(error.to_string()))?;
    name("session", call.session.as_deref().unwrap_or_default())?;
    name("tool", &call.tool)?;
    Ok(call)
}

/// The host's id for the call.
pub fn call_id<'v>(said: &Fields<'v, '_>) -> Result<Option<&'v str>, ApiProblem> {
    let found = said.text("call_id")?.filter(|text| !text.is_empty());
    name("call_id", found.unwrap_or_default())?;
    Ok(found)
}

/// Rejects names that are too long to store.
pub fn name(field: &str, text: &str) -> Result<(), ApiProblem> {
    if text.chars().count() > LONGEST_NAME {
        let detail = format!("`{field}` may have at most {LONGEST_NAME} characters");
        return Err(ApiProblem::bad_request(detail));
    }
    Ok(())
}

/// The agent's own words: without secrets, and safe to show.
pub fn plain_words(text: &str) -> String {
    show_within(&redact_text(text).text, 2000).text.into_owned()
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
