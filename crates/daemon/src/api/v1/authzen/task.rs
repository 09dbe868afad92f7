//! Access requests: a denied evaluation becomes a request of the gate, seen as a task.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use countersign_json::Value as Json;
use countersign_risk::call_digest::digest;
use countersign_store::{StoreError, StoredRequest};
use countersign_types::time::Clock as _;
use countersign_workflow::request::{Refusal, State as Stands};
use serde_json::{Value, json};

use super::evaluate::{self, TEMPLATE};
use super::offer::Unbound;
use super::read::{self, Evaluation, Source};
use crate::api::fields::{self, Fields};
use crate::api::v1::requests;
use crate::api::{Answered, Api, Problem, who};
use crate::gate::{Answer, Caller, Join, Question, Rejection};

/// The profile's own names for what can go wrong.
fn problem(status: StatusCode, name: &'static str, title: &'static str, detail: &str) -> Problem {
    let mut problem = Problem::new(status, name, title, detail);
    problem.family = "urn:openid:authzen:access-request:error:";
    problem
}

fn unbound(detail: &str) -> Problem {
    let title = "This is not what was denied";
    problem(StatusCode::BAD_REQUEST, "invalid_denial_binding", title, detail)
}

fn not_requestable(detail: &str) -> Problem {
    problem(StatusCode::BAD_REQUEST, "not_requestable", "This cannot be asked for", detail)
}

fn unknown() -> Problem {
    let detail = "there is no such request";
    problem(StatusCode::NOT_FOUND, "unknown_task", "There is no such thing", detail)
}

/// `POST /access/v1/requests`
pub async fn create(State(api): State<Api>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let key = requests::idempotency_key(request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let source = Source { value: &value, text: std::str::from_utf8(&bytes).unwrap_or_default() };
    evaluate::only(&value, &["denial", "requested_access", "client", "callback", "items"])?;
    let said = Fields::of(&value)?;
    if said.get("callback").is_some() {
        return Err(Problem::bad("callbacks are not served here; ask the status endpoint"));
    }
    if said.get("items").is_some() {
        return Err(Problem::bad("one call in each request; a list goes to POST /v1/batches"));
    }
    for name in ["requested_access", "client"] {
        if said.get(name).is_some_and(|value| value.as_object().is_none()) {
            return Err(Problem::bad(format!("`{name}` must be an object")));
        }
    }
    let denial = said.get("denial").ok_or_else(|| unbound("`denial` is needed"))?;
    let denial = Denial::read(denial)?;
    let mut asked = read::evaluation(source, None)?;
    if asked.subject != caller.agent {
        return Err(Refusal::NotYours.into());
    }
    if asked.foreign.is_some() {
        return Err(not_requestable("only calls of tools can be asked for"));
    }
    let evaluation = denial.check(&api, &caller, &mut asked)?;
    let detail = || json!({ "evaluation": evaluation }).to_string();
    let question = Question {
        call: asked.call,
        raw: asked.raw.as_bytes(),
        time: None,
        key,
        group: None,
        permit: true,
        join: Join::default(),
        detail: &detail,
    };
    let stored = match api.gate.submit(question, &caller).await {
        Ok(Answer::Kept(stored)) => stored,
        // A permit was asked for, so there is always a row.
        Ok(Answer::Passed(_)) => return Err(Rejection::Unwritable.into()),
        Err(Rejection::Unavailable(StoreError::KeyReused)) => {
            let detail = "this idempotency key was used for another call";
            let title = "This key was used already";
            return Err(problem(StatusCode::CONFLICT, "duplicate_request", title, detail));
        }
        Err(held) => return Err(held.into()),
    };
    let status = match stored.request.state {
        Stands::Pending => StatusCode::ACCEPTED,
        _ => StatusCode::CREATED,
    };
    let mut response = shown(&parts.headers, &stored, status);
    let place = place(&parts.headers, &stored);
    if let Ok(place) = HeaderValue::try_from(place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// What the enforcement point says about the evaluation that denied the call.
struct Denial<'v> {
    evaluation: Option<&'v str>,
    until: &'v str,
    token: &'v str,
}

impl<'v> Denial<'v> {
    fn read(value: &'v Json<'_>) -> Result<Denial<'v>, Problem> {
        let said = Fields::of(value)?;
        let evaluation = said.text("evaluation_id")?;
        let until = said.text("expires_at")?;
        let token = said.text("binding_token")?;
        let template = said.text("template")?;
        said.text("evaluated_at")?;
        said.text("reason")?;
        said.finish()?;
        if template.is_some_and(|template| template != TEMPLATE) {
            return Err(unbound("there is no such `template`"));
        }
        match (until, token) {
            (Some(until), Some(token)) => Ok(Denial { evaluation, until, token }),
            _ => Err(unbound("`denial.expires_at` and `denial.binding_token` are needed")),
        }
    }

    /// The evaluation, if the token was made for this agent's very call and still stands.
    fn check<'c>(
        &self,
        api: &Api,
        caller: &'c Caller,
        asked: &mut Evaluation<'c>,
    ) -> Result<String, Problem> {
        // The gate's own reading of who and where, as when it was evaluated.
        api.gate.assess(&mut asked.call, caller);
        let digest = digest(&asked.call, asked.raw.as_bytes());
        let offers = api.offers.as_ref().ok_or(Rejection::NoChance)?;
        let now = api.gate.clock().now().at;
        let (id, until) =
            offers.check(self.token, &caller.agent, &digest, now).map_err(|why| match why {
                Unbound::Foreign => unbound("the binding token is not for this call"),
                Unbound::Over => problem(
                    StatusCode::GONE,
                    "expired_denial",
                    "This offer is over",
                    "too long ago; evaluate again",
                ),
            })?;
        let id = id.to_string();
        let same = self.evaluation.is_none_or(|said| said == id) && self.until == until.to_string();
        same.then_some(id).ok_or_else(|| unbound("`denial` is not what the evaluation said"))
    }
}

/// `GET /access/v1/requests/{id}`
pub async fn read(State(api): State<Api>, Path(id): Path<String>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let stored = own(&api, &caller, &id).await?;
    Ok(shown(request.headers(), &stored, StatusCode::OK))
}

/// `POST /access/v1/requests/{id}/cancel`, with an empty body or an empty object.
pub async fn cancel(State(api): State<Api>, Path(id): Path<String>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body_or_none(&parts.headers, body).await?;
    if let Some(bytes) = bytes {
        Fields::of(&fields::parse(&bytes)?)?.finish()?;
    }
    let stored = own(&api, &caller, &id).await?;
    let applied =
        api.gate.cancel(stored.request.id, &caller).await.map_err(|error| match error {
            StoreError::Refused(refusal @ (Refusal::Ended(_) | Refusal::TooLate)) => problem(
                StatusCode::CONFLICT,
                "invalid_task_state",
                "This cannot be done any more",
                &refusal.to_string(),
            ),
            other => other.into(),
        })?;
    Ok(shown(&parts.headers, &applied.stored, StatusCode::OK))
}

async fn own(api: &Api, caller: &Caller, id: &str) -> Result<StoredRequest, Problem> {
    requests::own(api, caller, id).await.map_err(|error| match error.status {
        404 => unknown(),
        _ => error,
    })
}

fn place(headers: &HeaderMap, stored: &StoredRequest) -> String {
    format!("{}/access/v1/requests/{}", super::base(headers), stored.request.id)
}

fn shown(headers: &HeaderMap, stored: &StoredRequest, status: StatusCode) -> Response {
    let task = task(stored, &place(headers, stored));
    (status, axum::Json(task)).into_response()
}

fn task(stored: &StoredRequest, place: &str) -> Value {
    let request = &stored.request;
    let mut task = json!({
        "id": request.id,
        "status": request.state,
        "status_endpoint": place,
        "display": { "title": stored.tool, "description": stored.brief },
    });
    if let (Stands::Pending, Some(members)) = (request.state, task.as_object_mut()) {
        members.insert("expires_at".to_owned(), json!(request.plan.deadline));
        members.insert("links".to_owned(), json!({ "cancel": format!("{place}/cancel") }));
    }
    let mut answer = json!({ "task": task });
    if let (Some(result), Some(members)) = (result(stored), answer.as_object_mut()) {
        members.insert("result".to_owned(), result);
    }
    answer
}

/// What an approval is good for: one more evaluation, of the same call or of the edited one.
fn result(stored: &StoredRequest) -> Option<Value> {
    let decision = stored.request.decision.as_ref()?;
    let until = stored.permit_until.filter(|_| decision.state == Stands::Approved)?;
    let edited: Option<Value> =
        stored.edited.as_deref().and_then(|text| serde_json::from_str(text).ok());
    Some(json!({
        "mode": "reevaluate",
        "approval": {
            "id": stored.request.id, "approved_at": decision.at, "approved_until": until,
        },
        "used": stored.redeemed.is_some(),
        "edited_arguments": edited,
    }))
}
