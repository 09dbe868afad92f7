//! Evaluations: may this call run? A denial can offer an access request.

use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use countersign_json::Value as Json;
use countersign_json::canonical::CallDigest;
use countersign_risk::assess::Assessment;
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::card::Card;
use countersign_risk::route::{Pass, Route};
use countersign_store::{Redemption, Store as _};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Millis};
use countersign_workflow::request::State as RequestState;
use serde_json::{Value, json};

use super::base_url::base_url;
use super::read::{self, Evaluation, JsonSource, Presented};
use super::result::{EvaluationMeta, insert};
use crate::api::access_offer::OfferTerms;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::gate::{
    CallProjects, CallSubmission, Caller, GateAnswer, JoinOptions, Rejection, Settlement,
};
use crate::random;

/// How long an offer is valid.
const OFFER: Millis = Millis::from_seconds(600);
/// The most evaluations in one request.
const MAX_ITEMS: usize = 100;
/// When to look at a pending request again, in seconds.
const RETRY: u32 = 5;
/// The only form of an access request.
pub const TEMPLATE: &str = "tool_call";

/// `POST /access/v1/evaluation`
pub async fn one(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let source =
        JsonSource { value: &value, text: std::str::from_utf8(&bytes).unwrap_or_default() };
    only(&value, &[])?;
    let asked = read::evaluation(source, None)?;
    let evaluator = Evaluator { api: &api, caller: &caller, base: base_url(&api, &parts.headers) };
    Ok(axum::Json(evaluator.evaluate(asked).await?).into_response())
}

/// `POST /access/v1/evaluations`: all of them, or up to the first that settles the result.
pub async fn many(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let source =
        JsonSource { value: &value, text: std::str::from_utf8(&bytes).unwrap_or_default() };
    only(&value, &["evaluations", "options"])?;
    let fields = Fields::new(&value)?;
    let last = fields.get("options").map(semantic).transpose()?.flatten();
    let list = fields.list("evaluations")?.unwrap_or_default();
    let evaluator = Evaluator { api: &api, caller: &caller, base: base_url(&api, &parts.headers) };
    if list.is_empty() {
        let asked = read::evaluation(source, None)?;
        return Ok(axum::Json(evaluator.evaluate(asked).await?).into_response());
    }
    if list.len() > MAX_ITEMS {
        return Err(ApiProblem::bad_request(format!(
            "`evaluations` may have at most {MAX_ITEMS} items"
        )));
    }
    // All evaluations are read before the first is decided.
    let texts =
        fields::item_texts(fields::member_text(source.text, "evaluations").unwrap_or_default());
    let mut wanted = Vec::with_capacity(list.len());
    for (item, text) in list.iter().zip(texts) {
        only(item, &[])?;
        wanted.push(read::evaluation(JsonSource { value: item, text }, Some(source))?);
    }
    let mut answers = Vec::with_capacity(wanted.len());
    for asked in wanted {
        let answer = evaluator.evaluate(asked).await.unwrap_or_else(|problem| {
            let error = json!({ "status": problem.status, "message": problem.detail });
            json!({ "decision": false, "context": { "reason": "error", "error": error } })
        });
        let decision = answer.get("decision").and_then(Value::as_bool);
        answers.push(answer);
        if last.is_some() && decision == last {
            break;
        }
    }
    Ok(axum::Json(json!({ "evaluations": answers })).into_response())
}

/// The decision after which no further evaluation is made.
fn semantic(options: &Json<'_>) -> Result<Option<bool>, ApiProblem> {
    let fields = Fields::new(options)?;
    let last = match fields.text("evaluations_semantic")? {
        None | Some("execute_all") => None,
        Some("deny_on_first_deny") => Some(false),
        Some("permit_on_first_permit") => Some(true),
        Some(_) => {
            return Err(ApiProblem::bad_request(
                "`evaluations_semantic` must be execute_all, deny_on_first_deny or \
                 permit_on_first_permit",
            ));
        }
    };
    fields.finish()?;
    Ok(last)
}

/// Rejects members that an evaluation does not have.
pub fn only(value: &Json<'_>, further: &'static [&'static str]) -> Result<(), ApiProblem> {
    let fields = Fields::new(value)?;
    for name in ["subject", "action", "resource", "context"].into_iter().chain(further.to_vec()) {
        fields.get(name);
    }
    fields.finish()
}

/// The evaluations of one caller.
struct Evaluator<'a> {
    api: &'a Api,
    caller: &'a Caller,
    base: String,
}

impl Evaluator<'_> {
    async fn evaluate(&self, asked: Evaluation<'_>) -> Result<Value, ApiProblem> {
        let at = self.api.gate.clock().now().at;
        let meta =
            EvaluationMeta { id: random::id(at).map_err(|_| Rejection::EntropyUnavailable)?, at };
        // The subject must be the authenticated agent.
        if asked.subject != self.caller.agent {
            return Ok(meta.denied("subject_mismatch", "none"));
        }
        if let Some(reason) = asked.foreign {
            return Ok(meta.denied(reason, "none"));
        }
        match asked.approval {
            Presented::Nothing => {}
            Presented::Unknown => return Ok(meta.denied("approval_unverifiable", "none")),
            Presented::Approval(id) => return self.evaluate_approval(asked, id, meta).await,
        }
        let detail = || json!({ "evaluation": meta.id }).to_string();
        let (card, projects) = (asked.call.clone(), self.projects(&asked.call).await);
        let submission = CallSubmission {
            projects,
            call: asked.call,
            raw: asked.raw.as_bytes(),
            time: None,
            key: None,
            group: None,
            permit: false,
            join: JoinOptions::default(),
            snapshot: None,
            detail: &detail,
        };
        match self.api.gate.settle(submission, self.caller).await {
            Err(refused) if refused.is_by_policy() => Ok(meta.denied("policy_denied", "none")),
            Err(rejection) => Err(rejection.into()),
            Ok(Settlement::Asks(assessment, digest)) => {
                let mut answer = meta.denied("approval_required", "request");
                self.offer(&mut answer, meta, &Card::new(&card, &assessment, &digest), &digest);
                Ok(answer)
            }
            Ok(Settlement::Answered(GateAnswer::Passed(passed))) => {
                Ok(meta.permitted(&json!({ "reason": pass_reason(passed.why) })))
            }
            Ok(Settlement::Answered(GateAnswer::Kept(stored))) => {
                // A grant covers the call; this evaluation is its one use.
                let (request, agent) = (&stored.request, self.caller.agent.clone());
                match self.api.gate.redeem(request.id, agent, request.digest).await? {
                    Redemption::Accepted => Ok(meta.permitted(&json!({ "reason": "grant" }))),
                    _ => Ok(meta.denied("approval_expired", "none")),
                }
            }
        }
    }

    /// The rules of the projects of a call.
    async fn projects(&self, call: &Call<'_>) -> CallProjects {
        self.api.gate.find_projects(self.caller, &call.context, None).await
    }

    /// Evaluates with an approval: the same call, in time, once, and under the current rules.
    async fn evaluate_approval(
        &self,
        mut asked: Evaluation<'_>,
        id: Id,
        meta: EvaluationMeta,
    ) -> Result<Value, ApiProblem> {
        let unknown = || meta.denied("approval_unverifiable", "none");
        let Some(stored) = self.api.gate.store().request(id).await? else { return Ok(unknown()) };
        if !stored.request.requester.is_agent(&self.caller.agent) {
            return Ok(unknown());
        }
        let projects = self.projects(&asked.call).await;
        let gate = &self.api.gate;
        let (assessment, route) = gate.assess_in(&mut asked.call, self.caller, &projects);
        let digest = digest(&asked.call, asked.raw.as_bytes());
        let refused =
            |reason: &str| self.deny_with_offer(meta, reason, &asked, &assessment, &digest);
        match route {
            Route::Refuse => return Ok(meta.denied("policy_denied", "none")),
            // An approval from before the crisis does not count in it.
            Route::Ask { crisis: true } if !stored.request.crisis => {
                return Ok(refused("out_of_scope"));
            }
            Route::Ask { .. } | Route::Pass { .. } => {}
        }
        let agent = self.caller.agent.clone();
        Ok(match self.api.gate.redeem(id, agent, digest).await? {
            Redemption::Accepted => meta.permitted(&json!({
                "reason": "approved",
                "approval": { "id": id, "approved_until": stored.permit_until },
            })),
            Redemption::AlreadyUsed(_)
            | Redemption::Expired
            | Redemption::NotApproved(RequestState::Expired) => refused("approval_expired"),
            Redemption::NotApproved(RequestState::Pending) => {
                let mut answer = meta.denied("grant_pending", "retry");
                insert(&mut answer, "retry_after", json!(RETRY));
                answer
            }
            Redemption::NotApproved(_) => meta.denied("policy_denied", "none"),
            Redemption::AnotherCall => refused("out_of_scope"),
            Redemption::AnotherAgent => unknown(),
        })
    }

    fn deny_with_offer(
        &self,
        meta: EvaluationMeta,
        reason: &str,
        asked: &Evaluation<'_>,
        assessment: &Assessment,
        digest: &CallDigest,
    ) -> Value {
        let mut answer = meta.denied(reason, "request");
        self.offer(&mut answer, meta, &Card::new(&asked.call, assessment, digest), digest);
        answer
    }

    /// Adds the offer of an access request. Without a signing key nothing is offered.
    fn offer(&self, answer: &mut Value, meta: EvaluationMeta, card: &Card, digest: &CallDigest) {
        let Some(offers) = self.api.offers.as_ref() else { return };
        let until = meta.at.plus(OFFER);
        let agent = &self.caller.agent;
        let token = offers.token(OfferTerms { agent, digest, evaluation: meta.id, until });
        let offer = json!({
            "endpoint": format!("{}/access/v1/requests", self.base),
            "template": TEMPLATE,
            "expires_at": until,
            "binding_token": token,
            "display": { "title": "A person must approve this", "description": card.brief },
        });
        insert(answer, "access_request", offer);
    }
}

/// Why a call needs no approval.
const fn pass_reason(why: Pass) -> &'static str {
    match why {
        Pass::Harmless => "harmless",
        Pass::Watching => "watching",
    }
}
