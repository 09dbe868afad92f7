//! Access requests: a denied evaluation becomes a request of the gate, shown as a task.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use countersign_json::Value as Json;
use countersign_risk::call_digest::digest;
use countersign_store::{StoreError, StoredRequest};
use countersign_types::time::Clock as _;
use countersign_workflow::request::{State as RequestState, TransitionError};
use serde_json::{Value, json};

use super::base_url::base_url;
use super::evaluate::{self, TEMPLATE};
use super::read::{self, Evaluation, JsonSource};
use crate::api::access_offer::OfferError;
use crate::api::fields::{self, Fields};
use crate::api::v1::requests;
use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::gate::{CallSubmission, Caller, GateAnswer, JoinOptions, Rejection};

/// A problem document with the names of the profile.
fn problem(
    status: StatusCode,
    name: &'static str,
    title: &'static str,
    detail: &str,
) -> ApiProblem {
    let mut problem = ApiProblem::new(status, name, title, detail);
    problem.family = "urn:openid:authzen:access-request:error:";
    problem
}

fn invalid_binding(detail: &str) -> ApiProblem {
    let title = "Invalid denial binding";
    problem(StatusCode::BAD_REQUEST, "invalid_denial_binding", title, detail)
}

fn not_requestable(detail: &str) -> ApiProblem {
    problem(StatusCode::BAD_REQUEST, "not_requestable", "Not requestable", detail)
}

fn unknown_task() -> ApiProblem {
    let detail = "request not found";
    problem(StatusCode::NOT_FOUND, "unknown_task", "Not found", detail)
}

/// Members of the profile that this server does not offer, or that must be objects.
fn check_extensions(fields: &Fields<'_, '_>) -> Result<(), ApiProblem> {
    if fields.get("callback").is_some() {
        return Err(ApiProblem::bad_request(
            "callbacks are not supported; poll the status endpoint",
        ));
    }
    if fields.get("items").is_some() {
        return Err(ApiProblem::bad_request(
            "a request has one call; send a list to POST /v1/batches",
        ));
    }
    for name in ["requested_access", "client"] {
        if fields.get(name).is_some_and(|value| value.as_object().is_none()) {
            return Err(ApiProblem::bad_request(format!("`{name}` must be an object")));
        }
    }
    Ok(())
}

/// `POST /access/v1/requests`
pub async fn create(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let key = requests::idempotency_key(request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let source =
        JsonSource { value: &value, text: std::str::from_utf8(&bytes).unwrap_or_default() };
    evaluate::only(&value, &["denial", "requested_access", "client", "callback", "items"])?;
    let fields = Fields::new(&value)?;
    check_extensions(&fields)?;
    let denial = fields.get("denial").ok_or_else(|| invalid_binding("`denial` is required"))?;
    let denial = Denial::read(denial)?;
    let mut asked = read::evaluation(source, None)?;
    if asked.subject != caller.agent {
        return Err(TransitionError::NotRequester.into());
    }
    if asked.foreign.is_some() {
        return Err(not_requestable("only tool calls can be requested"));
    }
    let evaluation = denial.check(&api, &caller, &mut asked)?;
    let detail = || json!({ "evaluation": evaluation }).to_string();
    let projects = api.gate.find_projects(&caller, &asked.call.context, None).await;
    let submission = CallSubmission {
        call: asked.call,
        projects,
        raw: asked.raw.as_bytes(),
        time: None,
        key,
        group: None,
        permit: true,
        join: JoinOptions::default(),
        snapshot: None,
        detail: &detail,
    };
    let stored = submit(&api, submission, &caller).await?;
    let status = match stored.request.state {
        RequestState::Pending => StatusCode::ACCEPTED,
        _ => StatusCode::CREATED,
    };
    let mut response = task_response(&api, &parts.headers, &stored, status);
    let place = task_url(&api, &parts.headers, &stored);
    if let Ok(place) = HeaderValue::try_from(place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// Submits the call; a permit is always asked for, so the answer is always a stored request.
async fn submit(
    api: &Api,
    submission: CallSubmission<'_>,
    caller: &Caller,
) -> Result<Box<StoredRequest>, ApiProblem> {
    match api.gate.submit(submission, caller).await {
        Ok(GateAnswer::Kept(stored)) => Ok(stored),
        Ok(GateAnswer::Passed(_)) => Err(Rejection::Unwritable.into()),
        Err(Rejection::Unavailable(StoreError::KeyReused)) => {
            let detail = "this idempotency key was used for another call";
            let title = "Idempotency key already used";
            Err(problem(StatusCode::CONFLICT, "duplicate_request", title, detail))
        }
        Err(rejection) => Err(rejection.into()),
    }
}

/// The evaluation that denied the call, as the enforcement point describes it.
struct Denial<'v> {
    evaluation: Option<&'v str>,
    until: &'v str,
    token: &'v str,
}

impl<'v> Denial<'v> {
    fn read(value: &'v Json<'_>) -> Result<Denial<'v>, ApiProblem> {
        let fields = Fields::new(value)?;
        let evaluation = fields.text("evaluation_id")?;
        let until = fields.text("expires_at")?;
        let token = fields.text("binding_token")?;
        let template = fields.text("template")?;
        fields.text("evaluated_at")?;
        fields.text("reason")?;
        fields.finish()?;
        if template.is_some_and(|template| template != TEMPLATE) {
            return Err(invalid_binding("unknown `template`"));
        }
        match (until, token) {
            (Some(until), Some(token)) => Ok(Denial { evaluation, until, token }),
            _ => {
                Err(invalid_binding("`denial.expires_at` and `denial.binding_token` are required"))
            }
        }
    }

    /// The id of the evaluation, if the token is valid for this agent's call.
    fn check<'c>(
        &self,
        api: &Api,
        caller: &'c Caller,
        asked: &mut Evaluation<'c>,
    ) -> Result<String, ApiProblem> {
        // The gate sets agent and environment, as it did for the evaluation.
        api.gate.assess(&mut asked.call, caller);
        let digest = digest(&asked.call, asked.raw.as_bytes());
        let offers = api.offers.as_ref().ok_or(Rejection::EntropyUnavailable)?;
        let now = api.gate.clock().now().at;
        let (id, until) =
            offers.check(self.token, &caller.agent, &digest, now).map_err(|why| match why {
                OfferError::Foreign => invalid_binding("the binding token is not for this call"),
                OfferError::Over => problem(
                    StatusCode::GONE,
                    "expired_denial",
                    "Offer expired",
                    "the offer has expired; evaluate again",
                ),
            })?;
        let id = id.to_string();
        let same =
            self.evaluation.is_none_or(|fields| fields == id) && self.until == until.to_string();
        same.then_some(id).ok_or_else(|| invalid_binding("`denial` does not match the evaluation"))
    }
}

/// `GET /access/v1/requests/{id}`
pub async fn read(State(api): State<Api>, Path(id): Path<String>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let stored = own(&api, &caller, &id).await?;
    Ok(task_response(&api, request.headers(), &stored, StatusCode::OK))
}

/// `POST /access/v1/requests/{id}/cancel`, with an empty body or an empty object.
pub async fn cancel(State(api): State<Api>, Path(id): Path<String>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_optional_body(&parts.headers, body).await?;
    if let Some(bytes) = bytes {
        Fields::new(&fields::parse(&bytes)?)?.finish()?;
    }
    let stored = own(&api, &caller, &id).await?;
    let applied =
        api.gate.cancel(stored.request.id, &caller).await.map_err(|error| match error {
            StoreError::Refused(
                refusal @ (TransitionError::Ended(_) | TransitionError::DeadlinePassed),
            ) => problem(
                StatusCode::CONFLICT,
                "invalid_task_state",
                "Conflict",
                &refusal.to_string(),
            ),
            other => other.into(),
        })?;
    Ok(task_response(&api, &parts.headers, &applied.stored, StatusCode::OK))
}

async fn own(api: &Api, caller: &Caller, id: &str) -> Result<StoredRequest, ApiProblem> {
    requests::own(api, caller, id).await.map_err(|error| match error.status {
        404 => unknown_task(),
        _ => error,
    })
}

fn task_url(api: &Api, headers: &HeaderMap, stored: &StoredRequest) -> String {
    format!("{}/access/v1/requests/{}", base_url(api, headers), stored.request.id)
}

fn task_response(
    api: &Api,
    headers: &HeaderMap,
    stored: &StoredRequest,
    status: StatusCode,
) -> Response {
    let task = task(stored, &task_url(api, headers, stored));
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
    if let (RequestState::Pending, Some(members)) = (request.state, task.as_object_mut()) {
        members.insert("expires_at".to_owned(), json!(request.schedule.deadline));
        members.insert("links".to_owned(), json!({ "cancel": format!("{place}/cancel") }));
    }
    let mut answer = json!({ "task": task });
    if let (Some(result), Some(members)) = (result(stored), answer.as_object_mut()) {
        members.insert("result".to_owned(), result);
    }
    answer
}

/// What an approval allows: one more evaluation, of the same call or of the edited one.
fn result(stored: &StoredRequest) -> Option<Value> {
    let decision = stored.request.decision.as_ref()?;
    let until = stored.permit_until.filter(|_| decision.state == RequestState::Approved)?;
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
