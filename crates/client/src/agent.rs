//! The client of the agent API: ask, wait, cancel, report.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::call_request::{CallRequest, quoted};
use crate::daemon_key::{DaemonKey, check_response, new_nonce};
use crate::encoding::{new_idempotency_key, parse_json, path_segment};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::events::EventStream;
use crate::http::{self, Exchange};
use crate::kept_connections::KeptConnections;
use crate::outcome::Outcome;
use crate::report::{Batch, RedeemedPermit, RunReport};
use crate::request::{RequestRecord, RequestStatus};
use crate::waiting::{self, WaitLimits, WaitResult};

/// The time limit of an ordinary exchange.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait after the deadline: the daemon ends the request, not the client.
const GRACE: Duration = Duration::from_secs(10);
/// The deadline if the caller names none.
const DEFAULT_DEADLINE: u32 = 300;

/// A client of the agent API.
#[derive(Debug, Clone)]
pub struct AgentClient {
    pub(crate) endpoint: Endpoint,
    pub(crate) token: Option<String>,
    key: Result<DaemonKey, Error>,
    kept: Option<Arc<KeptConnections>>,
}

impl AgentClient {
    /// Over a Unix socket the daemon identifies its callers without a token. Without a key, only
    /// `health` and `ready` succeed.
    pub fn new(endpoint: Endpoint, token: Option<String>) -> AgentClient {
        let key = Err(Error::Untrusted("no key is pinned".to_owned()));
        AgentClient { endpoint, token, key, kept: None }
    }

    /// Believes the daemon with this key, and no other. With an error, nothing is sent and every
    /// result is this error.
    #[must_use]
    pub fn trusting(mut self, key: Result<DaemonKey, Error>) -> AgentClient {
        self.key = key;
        self
    }

    /// Uses connections for several exchanges, also those of its clones: for a process that asks
    /// often.
    #[must_use]
    pub fn keeping_connections(mut self) -> AgentClient {
        self.kept = Some(Arc::default());
        self
    }

    /// Asks for approval and waits for a decision or the deadline. Survives broken connections and
    /// restarts of the daemon: the idempotency key ensures that the call is submitted only once.
    pub fn ask(&self, question: &CallRequest) -> Result<Outcome, Error> {
        self.ask_with_notice(question, |_| {})
    }

    /// Like `ask`; calls `asked` once if the request waits for a person.
    pub fn ask_with_notice(
        &self,
        question: &CallRequest,
        asked: impl FnOnce(&RequestRecord),
    ) -> Result<Outcome, Error> {
        let key = question.key.clone().map_or_else(new_idempotency_key, Ok)?;
        let seconds = question.timeout_seconds.unwrap_or(DEFAULT_DEADLINE);
        let end = Instant::now() + Duration::from_secs(u64::from(seconds)) + GRACE;
        let (body, mut asked) = (question.body(), Some(asked));
        let waited = self.wait_until(
            WaitLimits { end, gone: None },
            || self.post("/v1/requests?wait=0", &body, Some(&key), TIMEOUT),
            |open| {
                if let (Some(open), Some(asked)) = (open, asked.take_if(|_| open.is_some())) {
                    asked(open);
                }
                true
            },
        )?;
        match waited {
            WaitResult::Ended(outcome) => Ok(outcome),
            WaitResult::Pending { lost: Some(error), .. } => Err(error),
            WaitResult::Pending { lost: None, .. } => Err(Error::Unreachable {
                endpoint: self.endpoint.to_string(),
                why: "no response before the deadline".to_owned(),
                sent: true,
            }),
        }
    }

    /// Submits a call with `submit` until it arrives, and waits until the request has ended. Before
    /// each poll, `goes_on` receives the request (once there is one) and returns whether to
    /// continue.
    pub fn wait_until(
        &self,
        limits: WaitLimits,
        submit: impl FnMut() -> Result<RequestRecord, Error>,
        goes_on: impl FnMut(Option<&RequestRecord>) -> bool,
    ) -> Result<WaitResult, Error> {
        waiting::wait_until(limits, submit, |id, seconds| self.wait(id, seconds), goes_on)
    }

    /// Submits a call without waiting.
    pub fn submit(&self, question: &CallRequest) -> Result<RequestRecord, Error> {
        let key = question.key.clone().map_or_else(new_idempotency_key, Ok)?;
        self.post("/v1/requests?wait=0", &question.body(), Some(&key), TIMEOUT)
    }

    /// Submits a call without waiting, and joins an existing request for the same call: a pending
    /// one, one with the same `call_id`, or an approved one whose permit is unused.
    pub fn join(&self, question: &CallRequest) -> Result<RequestRecord, Error> {
        self.post("/v1/requests?wait=0", &question.joining(), None, TIMEOUT)
    }

    /// Reports the outcome of a call without naming its request. Returns the id of the request, if
    /// a person was asked.
    pub fn report_outcome(
        &self,
        question: &CallRequest,
        ran: &RunReport,
    ) -> Result<Option<String>, Error> {
        #[derive(Deserialize)]
        struct Recorded {
            request: Option<String>,
        }
        let body = question.with(&[
            ("call_id", question.call_id.as_deref().map(quoted)),
            ("status", Some(quoted(if ran.failed { "error" } else { "ok" }))),
            ("exit_code", ran.exit_code.map(|code| code.to_string())),
            ("duration_ms", ran.duration_ms.map(|ms| ms.to_string())),
            ("result_digest", ran.result_digest.as_deref().map(quoted)),
            ("snapshot", question.snapshot.as_ref().map(|it| serde_json::json!(it).to_string())),
            ("summary", ran.summary.as_deref().map(quoted)),
        ]);
        let recorded: Recorded = self.post("/v1/outcomes", &body, None, TIMEOUT)?;
        Ok(recorded.request)
    }

    /// Reports calls that passed without the daemon under the same rules. Each is the JSON text of
    /// a call with `seconds_ago`. Returns how many of them the daemon would have asked about.
    pub fn report_passes(&self, gateway: &str, calls: &[String]) -> Result<u64, Error> {
        #[derive(Deserialize)]
        struct Recorded {
            would_ask: u64,
        }
        let list = calls.join(",");
        let body = format!("{{\"gateway\":{},\"passes\":[{list}]}}", quoted(gateway));
        let recorded: Recorded = self.post("/v1/passes", &body, None, TIMEOUT)?;
        Ok(recorded.would_ask)
    }

    /// One request.
    pub fn get(&self, id: &str) -> Result<RequestRecord, Error> {
        self.same(id, self.read(&format!("/v1/requests/{}", path_segment(id)?), TIMEOUT)?)
    }

    /// The agent's own requests, newest first.
    pub fn list(&self, state: Option<RequestStatus>) -> Result<Vec<RequestRecord>, Error> {
        #[derive(Deserialize)]
        struct Page {
            requests: Vec<RequestRecord>,
        }
        let query = state.map_or(String::new(), |state| format!("?state={}", state.as_str()));
        let page: Page = self.read(&format!("/v1/requests{query}"), TIMEOUT)?;
        Ok(page.requests)
    }

    /// One request, after it has ended or this many seconds have passed.
    pub fn wait(&self, id: &str, seconds: u64) -> Result<RequestRecord, Error> {
        let path = format!("/v1/requests/{}/wait?seconds={seconds}", path_segment(id)?);
        self.same(id, self.read(&path, Duration::from_secs(seconds) + TIMEOUT)?)
    }

    /// Cancels a request.
    pub fn cancel(&self, id: &str) -> Result<RequestRecord, Error> {
        let path = format!("/v1/requests/{}/cancel", path_segment(id)?);
        self.same(id, self.post(&path, "{}", None, TIMEOUT)?)
    }

    /// Redeems a permit for exactly this call.
    pub fn redeem(&self, permit: &str, question: &CallRequest) -> Result<RedeemedPermit, Error> {
        let call = question.call();
        let members = call.strip_prefix('{').unwrap_or_default();
        let body = format!("{{\"permit\":{},{members}", quoted(permit));
        let redeemed: RedeemedPermit = self.post("/v1/permits/redeem", &body, None, TIMEOUT)?;
        if redeemed.redeemed {
            Ok(redeemed)
        } else {
            Err(Error::Unexpected("the permit was not redeemed".to_owned()))
        }
    }

    /// The assessment of a call, without asking a person.
    pub fn assess(&self, question: &CallRequest) -> Result<serde_json::Value, Error> {
        self.post("/v1/assess", &question.call(), None, TIMEOUT)
    }

    /// Screens a text for signs of a crisis.
    pub fn screen(&self, text: &str, session: Option<&str>) -> Result<serde_json::Value, Error> {
        let body = serde_json::json!({ "text": text, "session": session }).to_string();
        self.post("/v1/screen", &body, None, TIMEOUT)
    }

    /// Screens a text of a person (`user`) or of the agent (`agent`), with the guard model.
    pub fn screen_as(
        &self,
        role: &str,
        text: &str,
        session: Option<&str>,
    ) -> Result<serde_json::Value, Error> {
        let body = serde_json::json!({ "role": role, "text": text, "session": session });
        self.post("/v1/screen", &body.to_string(), None, TIMEOUT)
    }

    /// Submits several calls together.
    pub fn batch(&self, calls: &[CallRequest], timeout: Option<u32>) -> Result<Batch, Error> {
        let calls: Vec<String> = calls.iter().map(CallRequest::body).collect();
        let time = timeout.map_or(String::new(), |s| format!(",\"timeout_seconds\":{s}"));
        let body = format!("{{\"calls\":[{}]{time}}}", calls.join(","));
        let batch: Batch =
            self.post("/v1/batches", &body, Some(&new_idempotency_key()?), TIMEOUT)?;
        if batch.requests.len() == calls.len() {
            Ok(batch)
        } else {
            Err(Error::Unexpected("the response does not cover every call of the batch".to_owned()))
        }
    }

    /// The batch, after all its requests have ended or this many seconds have passed.
    pub fn wait_batch(&self, group: &str, seconds: u64) -> Result<Batch, Error> {
        let path = format!("/v1/batches/{}/wait?seconds={seconds}", path_segment(group)?);
        self.read(&path, Duration::from_secs(seconds) + TIMEOUT)
    }

    /// The events of the agent's own requests.
    pub fn events(&self) -> Result<EventStream, Error> {
        EventStream::open(&self.endpoint, self.token.as_deref())
    }

    /// Checks that a response is for the request that was asked for.
    pub(crate) fn same(&self, id: &str, found: RequestRecord) -> Result<RequestRecord, Error> {
        if found.id.as_deref() == Some(id) {
            Ok(found)
        } else {
            Err(Error::Unexpected(format!("{} responded with another request", self.endpoint)))
        }
    }

    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        path: &str,
        timeout: Duration,
    ) -> Result<T, Error> {
        self.send("GET", path, None, None, timeout)
    }

    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &str,
        key: Option<&str>,
        timeout: Duration,
    ) -> Result<T, Error> {
        self.send("POST", path, Some(body), key, timeout)
    }

    fn send<T: DeserializeOwned>(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&str>,
        key: Option<&str>,
        timeout: Duration,
    ) -> Result<T, Error> {
        let daemon_key = match &self.key {
            Ok(key) => key,
            // No response would count, so the call is not sent: nobody would wait for its answer.
            // A daemon that does not run is still reported as that.
            Err(why) => return Err(self.health().err().unwrap_or_else(|| why.clone())),
        };
        let nonce = new_nonce()?;
        let exchange = Exchange {
            method,
            path,
            token: self.token.as_deref(),
            key,
            step_up: None,
            nonce: Some(&nonce),
            body,
            accept: "application/json",
            timeout,
        };
        let response = http::whole_with(&self.endpoint, &exchange, self.kept.as_deref())?;
        check_response(daemon_key, &exchange, &response)?;
        parse_json(&response.text)
    }
}
