//! Batches: a list of calls, verdicts in order, one group to answer.

use std::borrow::Cow;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_json::canonical::Digest;
use countersign_risk::batch;
use countersign_store::{RequestQuery, Store as _, StoredRequest};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::requests::{self, AskExtras, AskResult, ParsedQuestion, QueryResult, Seconds};
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::gate::{AnswerWaiter, Caller, Rejection};
use crate::random;

/// The most calls in one batch.
const MAX_ITEMS: usize = 100;

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/batches", post(create)).route("/v1/batches/{group}/wait", get(wait))
}

async fn create(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let key = requests::idempotency_key(request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let fields = Fields::new(&value)?;
    let calls =
        fields.list("calls")?.ok_or_else(|| ApiProblem::bad_request("`calls` is required"))?;
    let session = fields.text("session")?;
    let time = fields.seconds("timeout_seconds")?.map(fields::span_from_seconds);
    let permit = fields.boolean("permit")?;
    fields.finish()?;
    requests::check_length("session", session.unwrap_or_default())?;
    if calls.is_empty() || calls.len() > MAX_ITEMS {
        return Err(ApiProblem::bad_request(format!("`calls` must have 1 to {MAX_ITEMS} items")));
    }
    // All calls are read before the first is submitted, so that a bad one leaves nothing behind.
    let texts = fields::item_texts(fields::member_text(text, "calls").unwrap_or_default());
    let mut list = Vec::with_capacity(calls.len());
    for (at, (call, &text)) in calls.iter().zip(&texts).enumerate() {
        let mut question =
            requests::read(call, text).map_err(|problem| with_position(at, problem))?;
        question.call.session = question.call.session.or(session.map(Cow::Borrowed));
        question.time = question.time.or(time);
        question.permit = question.permit.or(permit);
        list.push(question);
    }
    let plan = plan(&api, &caller, &list).await?;
    let group = group(&api, &caller, key.as_deref())?;
    let batch = Batch { api: &api, caller: &caller, key, group, plan: &plan };
    let (answers, kept) = batch.ask(list).await;
    let status = if kept { StatusCode::CREATED } else { StatusCode::OK };
    let group = kept.then_some(group);
    Ok((status, axum::Json(answer(group, &plan, &answers))).into_response())
}

fn with_position(at: usize, mut problem: ApiProblem) -> ApiProblem {
    problem.detail = format!("calls[{at}]: {}", problem.detail);
    problem
}

/// Which calls may run in parallel, assessed as the gate assesses them.
async fn plan(
    api: &Api,
    caller: &Caller,
    list: &[ParsedQuestion<'_>],
) -> Result<Value, ApiProblem> {
    let mut calls: Vec<_> = list.iter().map(|question| question.call.clone()).collect();
    for call in &mut calls {
        api.gate.assess(call, caller);
        // A long list must not block the thread for other requests.
        tokio::task::yield_now().await;
    }
    let plan = batch::plan(&calls, &api.gate.rules().assessment);
    serde_json::to_value(&plan).map_err(|_| Rejection::Unwritable.into())
}

/// The id of the group; with an idempotency key always the same one.
fn group(api: &Api, caller: &Caller, key: Option<&str>) -> Result<Id, ApiProblem> {
    let Some(key) = key else {
        return random::id(api.gate.clock().now().at)
            .map_err(|_| Rejection::EntropyUnavailable.into());
    };
    let digest = Digest::of(format!("countersign/batch/1\0{}\0{key}", caller.agent).as_bytes());
    let mut bytes = [0; 16];
    for (place, byte) in bytes.iter_mut().zip(digest.as_bytes()) {
        *place = *byte;
    }
    Ok(Id::from_bytes(bytes))
}

fn answer(group: Option<Id>, plan: &Value, requests: &[Value]) -> Value {
    json!({
        "group": group,
        "parallel": plan.get("parallel"),
        "stages": plan.get("stages"),
        "reasons": plan.get("reasons"),
        "requests": requests,
    })
}

struct Batch<'a> {
    api: &'a Api,
    caller: &'a Caller,
    key: Option<String>,
    group: Id,
    plan: &'a Value,
}

impl Batch<'_> {
    /// Submits the calls in order. Returns the answers, and whether any request was stored.
    async fn ask(&self, list: Vec<ParsedQuestion<'_>>) -> (Vec<Value>, bool) {
        let of = list.len();
        let mut answers: Vec<Value> = Vec::with_capacity(of);
        let mut kept = false;
        for (at, question) in list.into_iter().enumerate() {
            tokio::task::yield_now().await;
            let mut batch = json!({ "at": at, "of": of });
            // One request stores the plan for all.
            if let (false, Some(members)) = (kept, batch.as_object_mut()) {
                members.insert("plan".to_owned(), self.plan.clone());
            }
            let key =
                self.key.as_ref().map(|key| format!("batch:{at}:{}", Digest::of(key.as_bytes())));
            let extra = AskExtras { key, group: Some(self.group), batch: Some(batch) };
            answers.push(match requests::ask(self.api, self.caller, question, extra).await {
                Ok(AskResult::Passed(document)) => document,
                Ok(AskResult::New(stored) | AskResult::Known(stored)) => {
                    kept = true;
                    requests::for_agent(self.api, &stored)
                }
                Err(problem) => json!({ "problem": problem }),
            });
        }
        (answers, kept)
    }
}

/// Waits until no request of the group is pending. Calls that passed or were refused at once are
/// not stored and appear as `null`.
async fn wait(
    State(api): State<Api>,
    Path(group): Path<String>,
    asked: QueryResult<Seconds>,
    request: Request,
) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let wait_time = requests::wait_time(requests::query(asked)?.seconds, requests::DEFAULT_WAIT)?;
    let group = Id::parse(&group).ok_or_else(not_found)?;
    let query = RequestQuery {
        agent: Some(caller.agent),
        group: Some(group),
        limit: 500,
        ..RequestQuery::default()
    };
    let mut list = api.gate.store().find(query).await?.requests;
    if list.is_empty() {
        return Err(not_found());
    }
    let until = Instant::now() + wait_time;
    // Waited for one after the other; the agent counts as waiting for all of them.
    let open = list.iter().filter(|stored| !stored.request.state.has_ended());
    let waiters: Vec<_> = open.map(|stored| api.gate.waiter(stored.request.id)).collect();
    for stored in list.iter_mut().filter(|stored| !stored.request.state.has_ended()) {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        *stored = api.gate.wait(stored.request.id, left).await?;
    }
    waiters.into_iter().for_each(AnswerWaiter::answered);
    list.iter().try_for_each(|stored| api.gate.check_approval(stored))?;
    Ok(axum::Json(stored_answer(&api, group, &list)).into_response())
}

fn not_found() -> ApiProblem {
    ApiProblem::not_found("batch not found")
}

/// The answer from the stored requests.
fn stored_answer(api: &Api, group: Id, list: &[StoredRequest]) -> Value {
    let details: Vec<Value> = list
        .iter()
        .map(|stored| serde_json::from_str(&stored.detail).unwrap_or_default())
        .collect();
    let number = |value: Option<&Value>| {
        value.and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
    };
    let of = details.iter().find_map(|detail| number(detail.pointer("/batch/of")));
    let mut answers = vec![Value::Null; of.unwrap_or_default().min(MAX_ITEMS)];
    for (stored, detail) in list.iter().zip(&details) {
        let at = number(detail.pointer("/batch/at"));
        if let Some(answer) = at.and_then(|at| answers.get_mut(at)) {
            *answer = requests::for_agent(api, stored);
        }
    }
    let plan = details.iter().find_map(|detail| detail.pointer("/batch/plan"));
    answer(Some(group), plan.unwrap_or(&Value::Null), &answers)
}
