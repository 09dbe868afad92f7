//! What gateways report: calls that passed beside the gate, and what came of calls.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_json::Value;
use countersign_risk::call_digest::digest;
use countersign_store::{Store as _, StoredRequest, WriteContext};
use countersign_types::id::Id;
use serde_json::json;

use super::requests::{call_id, name, plain_words, read_call};
use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, who};
use crate::gate::{Caller, Reported};

/// So many at once.
const MOST_PASSES: usize = 500;
/// The longest that a call may have taken: a week.
const LONGEST_MS: u64 = 7 * 24 * 3_600_000;

/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/passes", post(passes)).route("/v1/outcomes", post(outcomes))
}

/// Takes down calls that a gateway let pass by the same judgement, which is made again here: what
/// this gate would have asked about is marked as such.
async fn passes(State(api): State<Api>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let gateway = said.needed_text("gateway")?;
    name("gateway", gateway)?;
    let list = said.get("passes").and_then(Value::as_array);
    let list = list.ok_or_else(|| Problem::bad("`passes` must be a list of calls"))?;
    said.finish()?;
    if list.len() > MOST_PASSES {
        return Err(Problem::bad(format!("at most {MOST_PASSES} passes at once")));
    }
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let texts = fields::items(fields::member(text, "passes").unwrap_or_default());
    if texts.len() != list.len() {
        return Err(Problem::bad("`passes` must be a list of calls"));
    }
    // All are read before one is kept: a list is taken whole or not at all.
    let mut calls = Vec::with_capacity(list.len());
    for (item, text) in list.iter().zip(texts) {
        let said = Fields::of(item)?;
        let seconds = said.seconds("seconds_ago")?.unwrap_or_default();
        let call = read_call(&said, item)?;
        said.finish()?;
        calls.push((call, said.raw_call(text), seconds));
    }
    let mut would_ask = 0_usize;
    for (call, raw, seconds_ago) in calls {
        let reported = Reported { gateway, seconds_ago };
        would_ask += usize::from(api.gate.passed_elsewhere(call, raw, &caller, reported).await?);
    }
    let kept = json!({ "kept": list.len(), "would_ask": would_ask });
    Ok(axum::Json(kept).into_response())
}

/// Keeps what came of a call that somebody was asked about, by the host's name for it or by the
/// call itself.
async fn outcomes(State(api): State<Api>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let report = Report::read(&said)?;
    let call_id = call_id(&said)?;
    let mut call = read_call(&said, &value)?;
    said.finish()?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let raw = said.raw_call(text);
    api.gate.assess(&mut call, &caller);
    let digest = digest(&call, raw.as_bytes());
    let session = call.session.as_deref().unwrap_or_default();
    let joins = api.gate.joins();
    let named = call_id.and_then(|call_id| joins.named(&caller.agent, call_id));
    let Some(id) = named.or_else(|| joins.newest(&caller.agent, session, &digest)) else {
        return Ok(axum::Json(json!({ "request": null })).into_response());
    };
    let kept = keep(&api, &caller, id, report).await?;
    Ok(axum::Json(json!({ "request": kept.request.id })).into_response())
}

/// Keeps what an agent says came of its request.
pub async fn keep(
    api: &Api,
    caller: &Caller,
    id: Id,
    report: Report,
) -> Result<StoredRequest, Problem> {
    let stored = api.gate.store().request(id).await?.ok_or_else(super::requests::no_such)?;
    let report = report.json(stored.request.crisis).to_string();
    let note = WriteContext { policy: api.gate.rules().hash, facts: None, edited: None };
    Ok(api.gate.store().record_outcome(id, caller.agent.clone(), report, note).await?)
}

/// What came of a call, in the agent's words.
pub struct Report {
    status: String,
    summary: Option<String>,
    exit_code: Option<i64>,
    duration_ms: Option<u64>,
    result_digest: Option<String>,
}

impl Report {
    /// Reads it from its members.
    pub fn read(said: &Fields<'_, '_>) -> Result<Report, Problem> {
        let status = said.needed_text("status")?;
        if !["ok", "error", "skipped"].contains(&status) {
            return Err(Problem::bad("`status` must be ok, error or skipped"));
        }
        let whole = |name| {
            let found = said.get(name).map(|value| {
                let digits = value.as_number().and_then(|digits| digits.parse::<i64>().ok());
                digits.ok_or_else(|| Problem::bad(format!("`{name}` must be a whole number")))
            });
            found.transpose()
        };
        let duration_ms = whole("duration_ms")?.map(|ms| {
            let ms = u64::try_from(ms).ok().filter(|ms| *ms <= LONGEST_MS);
            ms.ok_or_else(|| Problem::bad("`duration_ms` must be from 0 to a week"))
        });
        let result_digest = said.text("result_digest")?;
        let hex = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if !result_digest.is_none_or(hex) {
            return Err(Problem::bad("`result_digest` must be a SHA-256 in hex"));
        }
        Ok(Report {
            status: status.to_owned(),
            summary: said.text("summary")?.map(plain_words),
            exit_code: whole("exit_code")?,
            duration_ms: duration_ms.transpose()?,
            result_digest: result_digest.map(str::to_ascii_lowercase),
        })
    }

    /// As it is kept; of a call in a crisis no words stay behind.
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
