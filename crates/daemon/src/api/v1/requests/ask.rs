//! A question read from JSON, and put to the gate.

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
use crate::api::{Api, Problem};
use crate::gate::{Answer, Caller, Join, Question};

/// Names of sessions, and other texts that are kept as they come.
const LONGEST_NAME: usize = 200;

/// What a question led to.
pub enum Asking {
    /// Nobody had to be asked; the document.
    Passed(serde_json::Value),
    /// A new request.
    New(Box<StoredRequest>),
    /// One that was there already.
    Known(Box<StoredRequest>),
}

/// What goes with a question beside its call.
#[derive(Default)]
pub struct Extra {
    /// The idempotency key.
    pub key: Option<String>,
    /// The batch.
    pub group: Option<Id>,
    /// What the batch needs again.
    pub batch: Option<serde_json::Value>,
}

/// A question that can be read; nothing has been done about it yet.
pub struct Wanted<'v> {
    /// The call.
    pub call: Call<'v>,
    /// Its arguments as they came.
    pub raw: &'v str,
    /// The agent's own words, safe to show.
    pub description: Option<String>,
    /// How long the agent is ready to wait.
    pub time: Option<Span>,
    /// Whether it needs a permit in any case.
    pub permit: Option<bool>,
    /// How it may join a request for the same call.
    pub join: Join<'v>,
}

/// Reads a question from its object and the text of that object.
pub fn read<'v>(value: &'v Value<'_>, text: &'v str) -> Result<Wanted<'v>, Problem> {
    let said = Fields::of(value)?;
    let call = read_call(&said, value)?;
    let description = said.text("description")?.map(plain_words);
    let time = said.seconds("timeout_seconds")?.map(fields::span);
    let permit = said.flag("permit")?;
    let join = Join {
        approved: said.flag("join")?.unwrap_or(false),
        call_id: call_id(&said)?,
        fresh: said.flag("fresh")?.unwrap_or(false),
    };
    said.finish()?;
    let raw = said.raw_call(text);
    Ok(Wanted { call, raw, description, time, permit, join })
}

/// Asks the gate about one call, as a batch and a single request do.
pub async fn ask(
    api: &Api,
    caller: &Caller,
    wanted: Wanted<'_>,
    extra: Extra,
) -> Result<Asking, Problem> {
    let session = wanted.call.session.as_deref().map(ToOwned::to_owned);
    let mut detail = json!({ "description": wanted.description });
    if let (Some(batch), Some(members)) = (extra.batch, detail.as_object_mut()) {
        members.insert("batch".to_owned(), batch);
    }
    let detail = || detail.to_string();
    let before = api.gate.clock().now().at;
    let question = Question {
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
        Answer::Passed(passed) => {
            let session = session.as_deref();
            Asking::Passed(document::passed(&passed, &caller.agent, session, before))
        }
        // Made before we asked: it was there already.
        Answer::Kept(stored) if stored.request.plan.created < before => Asking::Known(stored),
        Answer::Kept(stored) => Asking::New(stored),
    })
}

/// The call among the members, and every other member that a call has.
pub fn read_call<'v>(said: &Fields<'v, '_>, value: &'v Value<'_>) -> Result<Call<'v>, Problem> {
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
    let call = Call::from_json(value).map_err(|error| Problem::bad(error.to_string()))?;
    name("session", call.session.as_deref().unwrap_or_default())?;
    name("tool", &call.tool)?;
    Ok(call)
}

/// The host's own name for a call.
pub fn call_id<'v>(said: &Fields<'v, '_>) -> Result<Option<&'v str>, Problem> {
    let found = said.text("call_id")?.filter(|text| !text.is_empty());
    name("call_id", found.unwrap_or_default())?;
    Ok(found)
}

/// Refuses names that are too long to be kept as they come.
pub fn name(field: &str, text: &str) -> Result<(), Problem> {
    if text.chars().count() > LONGEST_NAME {
        let detail = format!("`{field}` may have at most {LONGEST_NAME} characters");
        return Err(Problem::bad(detail));
    }
    Ok(())
}

/// The agent's own words: shown as such, without secrets and tricks.
pub fn plain_words(text: &str) -> String {
    show_within(&redact_text(text).text, 2000).text.into_owned()
}

/// The key under which a question is asked once, however often it is sent.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| (1..=128).contains(&key.len()));
    let fits = key.filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()));
    fits.map(|key| Some(key.to_owned()))
        .ok_or_else(|| Problem::bad("Idempotency-Key must have 1 to 128 visible ASCII characters"))
}
