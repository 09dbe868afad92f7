//! Reports of gateways: calls that they let pass, and outcomes of calls.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_json::Value;
use countersign_risk::call_digest::digest;
use countersign_store::{Store as _, StoredRequest, WriteContext};
use countersign_types::id::Id;
use serde_json::json;

use super::requests::{call_id, check_length, read_call, sanitize_text, snapshot};
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::gate::{Caller, PassReport};

/// The most passes in one report.
const MAX_PASSES: usize = 500;
/// The longest duration of a call: a week.
const MAX_DURATION_MS: u64 = 7 * 24 * 3_600_000;

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/passes", post(passes)).route("/v1/outcomes", post(outcomes))
}

/// Records calls that a gateway let pass. Each is assessed again here; a call that this gate would
/// have asked about is marked.
async fn passes(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let gateway = fields.required_text("gateway")?;
    check_length("gateway", gateway)?;
    let list = fields.get("passes").and_then(Value::as_array);
    let list = list.ok_or_else(|| ApiProblem::bad_request("`passes` must be a list of calls"))?;
    fields.finish()?;
    if list.len() > MAX_PASSES {
        return Err(ApiProblem::bad_request(format!(
            "`passes` may have at most {MAX_PASSES} items"
        )));
    }
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let texts = fields::item_texts(fields::member_text(text, "passes").unwrap_or_default());
    if texts.len() != list.len() {
        return Err(ApiProblem::bad_request("`passes` must be a list of calls"));
    }
    // All calls are read before the first is recorded: a list is accepted whole or not at all.
    let mut calls = Vec::with_capacity(list.len());
    for (item, text) in list.iter().zip(texts) {
        let fields = Fields::new(item)?;
        let seconds = fields.seconds("seconds_ago")?.unwrap_or_default();
        let call = read_call(&fields, item)?;
        fields.finish()?;
        calls.push((call, fields.raw_call(text), seconds));
    }
    // A gateway keeps what is not accepted and sends it again.
    if let Err(full) = api.gate.charge_reported(&caller.agent, calls.len()).await {
        return Err(crate::api::problem::unavailable(full.to_string()));
    }
    let mut would_ask = 0_usize;
    for (call, raw, seconds_ago) in calls {
        let reported = PassReport { gateway, seconds_ago };
        would_ask +=
            usize::from(api.gate.record_reported_pass(call, raw, &caller, reported).await?);
    }
    let kept = json!({ "kept": list.len(), "would_ask": would_ask });
    Ok(axum::Json(kept).into_response())
}

/// Records the outcome of a call that a person was asked about, found by the host's id for the call
/// or by the call itself.
async fn outcomes(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let report = OutcomeReport::read(&fields)?;
    let call_id = call_id(&fields)?;
    let snapshot = snapshot(&fields)?;
    let mut call = read_call(&fields, &value)?;
    fields.finish()?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let raw = fields.raw_call(text);
    api.gate.assess(&mut call, &caller);
    let digest = digest(&call, raw.as_bytes());
    let session = call.session.as_deref().unwrap_or_default();
    let joins = api.gate.deduplication();
    let named = call_id.and_then(|call_id| joins.named(&caller.agent, call_id));
    let Some(id) = named.or_else(|| joins.newest(&caller.agent, session, &digest)) else {
        return Ok(axum::Json(json!({ "request": null })).into_response());
    };
    let kept = keep(&api, &caller, id, report).await?;
    if let Some(claim) = snapshot {
        api.gate.record_review_result(id, &claim, &call).await?;
    }
    Ok(axum::Json(json!({ "request": kept.request.id })).into_response())
}

/// Records the outcome that an agent reports for its request.
pub async fn keep(
    api: &Api,
    caller: &Caller,
    id: Id,
    report: OutcomeReport,
) -> Result<StoredRequest, ApiProblem> {
    let stored = api.gate.store().request(id).await?.ok_or_else(super::requests::not_found)?;
    let report = report.json(stored.request.crisis).to_string();
    let note = WriteContext { policy: api.gate.rules().hash, facts: None, edited: None };
    Ok(api.gate.store().record_outcome(id, caller.agent.clone(), report, note).await?)
}

/// The outcome of a call, as the agent reports it.
pub struct OutcomeReport {
    status: String,
    summary: Option<String>,
    exit_code: Option<i64>,
    duration_ms: Option<u64>,
    result_digest: Option<String>,
}

impl OutcomeReport {
    /// Reads it from the members of an object.
    pub fn read(fields: &Fields<'_, '_>) -> Result<OutcomeReport, ApiProblem> {
        let status = fields.required_text("status")?;
        if !["ok", "error", "skipped"].contains(&status) {
            return Err(ApiProblem::bad_request("`status` must be ok, error or skipped"));
        }
        let whole = |name| {
            let found = fields.get(name).map(|value| {
                let digits = value.as_number().and_then(|digits| digits.parse::<i64>().ok());
                digits
                    .ok_or_else(|| ApiProblem::bad_request(format!("`{name}` must be an integer")))
            });
            found.transpose()
        };
        let duration_ms = whole("duration_ms")?.map(|ms| {
            let ms = u64::try_from(ms).ok().filter(|ms| *ms <= MAX_DURATION_MS);
            ms.ok_or_else(|| ApiProblem::bad_request("`duration_ms` must be 0 to 604800000"))
        });
        let result_digest = fields.text("result_digest")?;
        let hex = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if !result_digest.is_none_or(hex) {
            return Err(ApiProblem::bad_request("`result_digest` must be a SHA-256 in hex"));
        }
        Ok(OutcomeReport {
            status: status.to_owned(),
            summary: fields.text("summary")?.map(sanitize_text),
            exit_code: whole("exit_code")?,
            duration_ms: duration_ms.transpose()?,
            result_digest: result_digest.map(str::to_ascii_lowercase),
        })
    }

    /// The stored form. For a call in a crisis no text is stored.
    fn json(self, crisis: bool) -> serde_json::Value {
        let mut kept = json!({
            "status": self.status,
            "summary": self.summary.filter(|_| !crisis),
        });
        let rest = [
            ("exit_code", self.exit_code.map(Into::into)),
            ("duration_ms", self.duration_ms.map(Into::into)),
            ("result_digest", self.result_digest.map(Into::into)),
        ];
        if let Some(members) = kept.as_object_mut() {
            let known = rest.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
            members.extend(known.collect::<Vec<(String, serde_json::Value)>>());
        }
        kept
    }
}
