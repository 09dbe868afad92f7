//! Requests: asked, read, waited for, taken back.

use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use countersign_core::call::Call;
use countersign_core::id::Id;
use countersign_core::json::Value;
use countersign_core::redact::redact_text;
use countersign_core::request::State as Stands;
use countersign_core::show::show_within;
use countersign_core::time::{Clock as _, Span};
use countersign_store::{Note, Store as _, Stored};
use serde::Deserialize;
use serde_json::json;

use super::document;
use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, who};
use crate::gate::{Answer, Caller, Question};

/// The longest wait in one request; who waits longer asks again.
const LONGEST_WAIT: u64 = 600;
/// The usual wait.
pub const USUAL_WAIT: u64 = 30;
/// Names of sessions, and other texts that are kept as they come.
const LONGEST_NAME: usize = 200;

/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new()
        .route("/v1/requests", post(create).get(list_own))
        .route("/v1/requests/{id}", get(read_own))
        .route("/v1/requests/{id}/wait", get(wait_own))
        .route("/v1/requests/{id}/cancel", post(cancel))
        .route("/v1/requests/{id}/outcome", post(outcome))
}

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/requests", get(list_all))
        .route("/v1/requests/{id}", get(read_any))
        .route("/v1/requests/{id}/wait", get(wait_any))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wait {
    wait: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
/// How long a caller waits.
pub struct Seconds {
    /// So long.
    pub seconds: Option<u64>,
}

/// What is looked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    state: Option<String>,
    agent: Option<String>,
    session: Option<String>,
    group: Option<String>,
    q: Option<String>,
    before: Option<String>,
    limit: Option<u32>,
}

/// A query that cannot be read is refused like a body that cannot.
pub type Asked<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

/// What a query asks for.
pub fn query<T>(asked: Asked<T>) -> Result<T, Problem> {
    asked.map(|Query(asked)| asked).map_err(|error| Problem::bad(error.body_text()))
}

/// How long to wait, within bounds.
pub fn patience(seconds: Option<u64>, usual: u64) -> Result<Duration, Problem> {
    let seconds = seconds.unwrap_or(usual);
    if seconds > LONGEST_WAIT {
        return Err(Problem::bad(format!("a wait may be at most {LONGEST_WAIT} seconds")));
    }
    Ok(Duration::from_secs(seconds))
}

/// An id from a path; what is no id is no request either.
pub fn id(text: &str) -> Result<Id, Problem> {
    Id::parse(text).ok_or_else(no_such)
}

/// The same answer for what is not there and what is another agent's.
pub fn no_such() -> Problem {
    Problem::not_found("there is no such request")
}

async fn create(State(api): State<Api>, asked: Asked<Wait>, request: Request) -> Answered {
    let wait = patience(query(asked)?.wait, 0)?;
    let caller = who::agent(&api, &request)?;
    let key = idempotency_key(request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let wanted = read(&value, std::str::from_utf8(&bytes).unwrap_or_default())?;
    let answer = ask(&api, &caller, wanted, Extra { key, ..Extra::default() }).await?;
    let (status, stored) = match answer {
        Asking::Passed(document) => return Ok(axum::Json(document).into_response()),
        Asking::New(stored) => (StatusCode::CREATED, stored),
        Asking::Known(stored) => (StatusCode::OK, stored),
    };
    let stored = if wait.is_zero() || stored.request.state.has_ended() {
        *stored
    } else {
        api.gate.wait(stored.request.id, wait).await?
    };
    Ok(located(&api, status, &stored))
}

/// What a question led to.
pub enum Asking {
    /// Nobody had to be asked; the document.
    Passed(serde_json::Value),
    /// A new request.
    New(Box<Stored>),
    /// One that was there already.
    Known(Box<Stored>),
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
}

/// Reads a question from its object and the text of that object.
pub fn read<'v>(value: &'v Value<'_>, text: &'v str) -> Result<Wanted<'v>, Problem> {
    let said = Fields::of(value)?;
    let call = read_call(&said, value)?;
    let description = said.text("description")?.map(plain_words);
    let time = said.seconds("timeout_seconds")?.map(fields::span);
    let permit = said.flag("permit")?;
    said.finish()?;
    let raw = fields::member(text, "arguments").unwrap_or(text);
    Ok(Wanted { call, raw, description, time, permit })
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

pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| (1..=128).contains(&key.len()));
    let fits = key.filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()));
    fits.map(|key| Some(key.to_owned()))
        .ok_or_else(|| Problem::bad("Idempotency-Key must have 1 to 128 visible ASCII characters"))
}

fn located(api: &Api, status: StatusCode, stored: &Stored) -> Response {
    let document = for_agent(api, stored);
    let mut response = (status, axum::Json(document)).into_response();
    if let Ok(place) = HeaderValue::try_from(format!("/v1/requests/{}", stored.request.id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

/// The document for the agent that asked.
pub fn for_agent(api: &Api, stored: &Stored) -> serde_json::Value {
    let now = api.gate.clock().now().at;
    document::for_agent(stored, &api.keys, &api.gate.rules().issuer, now)
}

/// A request of this agent; another's does not exist for it.
pub async fn own(api: &Api, caller: &Caller, text: &str) -> Result<Stored, Problem> {
    let stored = api.gate.store().request(id(text)?).await?.ok_or_else(no_such)?;
    if stored.request.requester.name() == caller.agent { Ok(stored) } else { Err(no_such()) }
}

async fn read_own(State(api): State<Api>, Path(id): Path<String>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let stored = own(&api, &caller, &id).await?;
    Ok(axum::Json(for_agent(&api, &stored)).into_response())
}

async fn wait_own(
    State(api): State<Api>,
    Path(id): Path<String>,
    asked: Asked<Seconds>,
    request: Request,
) -> Answered {
    let caller = who::agent(&api, &request)?;
    let patience = patience(query(asked)?.seconds, USUAL_WAIT)?;
    let stored = own(&api, &caller, &id).await?;
    let stored = match stored.request.state {
        Stands::Pending => api.gate.wait(stored.request.id, patience).await?,
        _ => stored,
    };
    Ok(axum::Json(for_agent(&api, &stored)).into_response())
}

async fn cancel(State(api): State<Api>, Path(id): Path<String>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    Fields::of(&fields::parse(&bytes)?)?.finish()?;
    let stored = own(&api, &caller, &id).await?;
    let applied = api.gate.cancel(stored.request.id, &caller).await?;
    Ok(axum::Json(for_agent(&api, &applied.stored)).into_response())
}

async fn outcome(State(api): State<Api>, Path(id): Path<String>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let status = said.needed_text("status")?;
    if !["ok", "error", "skipped"].contains(&status) {
        return Err(Problem::bad("`status` must be ok, error or skipped"));
    }
    let summary = said.text("summary")?.map(plain_words);
    said.finish()?;
    let stored = own(&api, &caller, &id).await?;
    // Of a call in a crisis no words stay behind.
    let summary = summary.filter(|_| !stored.request.crisis);
    let report = json!({ "status": status, "summary": summary }).to_string();
    let note = Note { policy: api.gate.rules().hash, facts: None, edited: None };
    let kept = api.gate.store().outcome(stored.request.id, caller.agent, report, note).await?;
    Ok(axum::Json(for_agent(&api, &kept)).into_response())
}

impl Filter {
    fn query(self) -> Result<countersign_store::Query, Problem> {
        let state = self
            .state
            .map(|word| Stands::parse(&word).ok_or_else(|| Problem::bad("no such state")))
            .transpose()?;
        let place = |text: Option<String>| {
            text.map(|text| Id::parse(&text).ok_or_else(|| Problem::bad("no such id"))).transpose()
        };
        for (field, text) in [("agent", &self.agent), ("session", &self.session), ("q", &self.q)] {
            name(field, text.as_deref().unwrap_or_default())?;
        }
        let limit = self.limit.unwrap_or(50);
        if !(1..=500).contains(&limit) {
            return Err(Problem::bad("`limit` must be 1 to 500"));
        }
        Ok(countersign_store::Query {
            state,
            agent: self.agent,
            session: self.session,
            group: place(self.group)?,
            text: self.q,
            before: place(self.before)?,
            limit,
        })
    }
}

async fn list_own(State(api): State<Api>, asked: Asked<Filter>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let mut wanted = query(asked)?.query()?;
    if wanted.agent.is_some_and(|agent| agent != caller.agent) {
        return Err(Problem::bad("an agent sees its own requests only"));
    }
    wanted.agent = Some(caller.agent);
    let page = api.gate.store().find(wanted).await?;
    let list: Vec<_> = page.requests.iter().map(|stored| for_agent(&api, stored)).collect();
    Ok(axum::Json(json!({ "requests": list, "next": page.next })).into_response())
}

async fn list_all(State(api): State<Api>, headers: HeaderMap, asked: Asked<Filter>) -> Answered {
    who::person(&api, &headers)?;
    let page = api.gate.store().find(query(asked)?.query()?).await?;
    let list: Vec<_> = page.requests.iter().map(document::for_the_list).collect();
    Ok(axum::Json(json!({ "requests": list, "next": page.next })).into_response())
}

async fn read_any(
    State(api): State<Api>,
    Path(text): Path<String>,
    headers: HeaderMap,
) -> Answered {
    who::person(&api, &headers)?;
    let stored = api.gate.store().request(id(&text)?).await?.ok_or_else(no_such)?;
    Ok(axum::Json(for_people(&api, &stored).await?).into_response())
}

async fn wait_any(
    State(api): State<Api>,
    Path(text): Path<String>,
    headers: HeaderMap,
    asked: Asked<Seconds>,
) -> Answered {
    who::person(&api, &headers)?;
    let patience = patience(query(asked)?.seconds, USUAL_WAIT)?;
    let id = id(&text)?;
    api.gate.store().request(id).await?.ok_or_else(no_such)?;
    let stored = api.gate.wait(id, patience).await?;
    Ok(axum::Json(for_people(&api, &stored).await?).into_response())
}

/// The document for people, with how announcements went.
pub async fn for_people(api: &Api, stored: &Stored) -> Result<serde_json::Value, Problem> {
    let deliveries = api.gate.store().deliveries(stored.request.id).await?;
    Ok(document::for_people(stored, &deliveries))
}
