//! The agents' side: ask, wait, take back, say what came of it.

use std::time::{Duration, Instant};

use countersign_json::base64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::endpoint::Endpoint;
use crate::error::{Error, Problem};
use crate::events::Events;
use crate::http::{self, Exchange};
use crate::outcome::Outcome;
use crate::question::{Question, quoted};
use crate::request::{Request, State};
use crate::waiting::{Waited, Waiting};

/// How long an ordinary exchange may take.
const USUAL: Duration = Duration::from_secs(30);
/// How long after the deadline an answer is still waited for: the daemon ends it, not we.
const GRACE: Duration = Duration::from_secs(10);
/// The deadline where nothing is said.
const USUAL_TIMEOUT: u32 = 300;

/// An agent of a daemon.
#[derive(Debug, Clone)]
pub struct Agent {
    endpoint: Endpoint,
    token: Option<String>,
}

/// What came of a call that ran, or did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// It ran.
    Ok,
    /// It failed.
    Error,
    /// It was not run.
    Skipped,
}

/// What came of a call, for [`Agent::report_outcome`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    /// Whether it failed.
    pub failed: bool,
    /// What a program ended with.
    pub exit_code: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// SHA-256 of what it gave back, in hex.
    pub result_digest: Option<String>,
}

/// A permit that was used.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Redeemed {
    /// Always true; an answer that says otherwise is an error.
    pub redeemed: bool,
    /// Which request it was for.
    pub request: String,
}

/// A list of calls that was asked about at once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Batch {
    /// Its name; none if nothing of it waits.
    pub group: Option<String>,
    /// Whether all may run side by side.
    pub parallel: Option<bool>,
    /// Which calls may run side by side, stage after stage.
    pub stages: Option<Vec<Vec<usize>>>,
    /// The calls in their order.
    pub requests: Vec<BatchItem>,
}

/// One call of a batch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum BatchItem {
    /// It was refused.
    Problem {
        /// Why.
        problem: Problem,
    },
    /// It stands so.
    Request(Box<Request>),
    /// It was answered at once, and a wait does not repeat that.
    Answered,
}

impl Agent {
    /// At this endpoint; over a socket the daemon knows its callers without a token.
    pub fn new(endpoint: Endpoint, token: Option<String>) -> Agent {
        Agent { endpoint, token }
    }

    /// Asks, and waits until somebody answered or the time is over. Connections that break and
    /// daemons that restart are survived: the question has a key, so it is asked only once.
    pub fn ask(&self, question: &Question) -> Result<Outcome, Error> {
        self.ask_and_tell(question, |_| {})
    }

    /// The same; `asked` is called once when the question waits for a person.
    pub fn ask_and_tell(
        &self,
        question: &Question,
        asked: impl FnOnce(&Request),
    ) -> Result<Outcome, Error> {
        let key = question.key.clone().map_or_else(fresh_key, Ok)?;
        let seconds = question.timeout_seconds.unwrap_or(USUAL_TIMEOUT);
        let end = Instant::now() + Duration::from_secs(u64::from(seconds)) + GRACE;
        let (body, mut asked) = (question.body(), Some(asked));
        let waited = self.wait_until(
            Waiting { end, gone: None },
            || self.post("/v1/requests?wait=0", &body, Some(&key), USUAL),
            |open| {
                if let (Some(open), Some(asked)) = (open, asked.take_if(|_| open.is_some())) {
                    asked(open);
                }
                true
            },
        )?;
        match waited {
            Waited::Ended(outcome) => Ok(outcome),
            Waited::Pending { lost: Some(error), .. } => Err(error),
            Waited::Pending { lost: None, .. } => Err(Error::Unreachable {
                endpoint: self.endpoint.to_string(),
                why: "no answer came before the deadline".to_owned(),
                sent: true,
            }),
        }
    }

    /// Asks without waiting.
    pub fn submit(&self, question: &Question) -> Result<Request, Error> {
        let key = question.key.clone().map_or_else(fresh_key, Ok)?;
        self.post("/v1/requests?wait=0", &question.body(), Some(&key), USUAL)
    }

    /// Asks without waiting, and joins a request for the very same call: one that is open, one of
    /// the same `call_id`, or one that was approved meanwhile and whose permit nobody used.
    pub fn join(&self, question: &Question) -> Result<Request, Error> {
        self.post("/v1/requests?wait=0", &question.joining(), None, USUAL)
    }

    /// Reports the outcome of a call, whose request need not be known. Returns the id of the
    /// request that the outcome was stored with, if a person was asked about the call.
    pub fn report_outcome(&self, question: &Question, ran: &Ran) -> Result<Option<String>, Error> {
        #[derive(Deserialize)]
        struct Kept {
            request: Option<String>,
        }
        let body = question.with(&[
            ("call_id", question.call_id.as_deref().map(quoted)),
            ("status", Some(quoted(if ran.failed { "error" } else { "ok" }))),
            ("exit_code", ran.exit_code.map(|code| code.to_string())),
            ("duration_ms", ran.duration_ms.map(|ms| ms.to_string())),
            ("result_digest", ran.result_digest.as_deref().map(quoted)),
        ]);
        let kept: Kept = self.post("/v1/outcomes", &body, None, USUAL)?;
        Ok(kept.request)
    }

    /// Reports calls that passed without the daemon, by the same assessment. Each is the JSON text
    /// of a call with `seconds_ago`. Returns how many of them the daemon would have asked about.
    pub fn report_passes(&self, gateway: &str, calls: &[String]) -> Result<u64, Error> {
        #[derive(Deserialize)]
        struct Kept {
            would_ask: u64,
        }
        let list = calls.join(",");
        let body = format!("{{\"gateway\":{},\"passes\":[{list}]}}", quoted(gateway));
        let kept: Kept = self.post("/v1/passes", &body, None, USUAL)?;
        Ok(kept.would_ask)
    }

    /// One request.
    pub fn get(&self, id: &str) -> Result<Request, Error> {
        self.same(id, self.read(&format!("/v1/requests/{}", segment(id)?), USUAL)?)
    }

    /// Own requests, newest first.
    pub fn list(&self, state: Option<State>) -> Result<Vec<Request>, Error> {
        #[derive(Deserialize)]
        struct Page {
            requests: Vec<Request>,
        }
        let query = state.map_or(String::new(), |state| format!("?state={}", state.word()));
        let page: Page = self.read(&format!("/v1/requests{query}"), USUAL)?;
        Ok(page.requests)
    }

    /// One request, once it has ended or so many seconds are over.
    pub fn wait(&self, id: &str, seconds: u64) -> Result<Request, Error> {
        let path = format!("/v1/requests/{}/wait?seconds={seconds}", segment(id)?);
        self.same(id, self.read(&path, Duration::from_secs(seconds) + USUAL)?)
    }

    /// Takes a request back.
    pub fn cancel(&self, id: &str) -> Result<Request, Error> {
        let path = format!("/v1/requests/{}/cancel", segment(id)?);
        self.same(id, self.post(&path, "{}", None, USUAL)?)
    }

    /// Says what came of a call.
    pub fn report(&self, id: &str, status: Report, summary: &str) -> Result<Request, Error> {
        let path = format!("/v1/requests/{}/outcome", segment(id)?);
        let body = serde_json::json!({ "status": status, "summary": summary }).to_string();
        self.same(id, self.post(&path, &body, None, USUAL)?)
    }

    /// Says what came of a call in figures, without its words.
    pub fn report_run(&self, id: &str, ran: &Ran) -> Result<Request, Error> {
        let path = format!("/v1/requests/{}/outcome", segment(id)?);
        let body = serde_json::json!({
            "status": if ran.failed { Report::Error } else { Report::Ok },
            "exit_code": ran.exit_code,
            "duration_ms": ran.duration_ms,
            "result_digest": ran.result_digest,
        });
        self.same(id, self.post(&path, &body.to_string(), None, USUAL)?)
    }

    /// Uses a permit for exactly this call.
    pub fn redeem(&self, permit: &str, question: &Question) -> Result<Redeemed, Error> {
        let call = question.call();
        let members = call.strip_prefix('{').unwrap_or_default();
        let body = format!("{{\"permit\":{},{members}", quoted(permit));
        let redeemed: Redeemed = self.post("/v1/permits/redeem", &body, None, USUAL)?;
        if redeemed.redeemed {
            Ok(redeemed)
        } else {
            Err(Error::Unexpected("the permit was not used".to_owned()))
        }
    }

    /// What the gate would make of a call, without asking anybody.
    pub fn assess(&self, question: &Question) -> Result<serde_json::Value, Error> {
        self.post("/v1/assess", &question.call(), None, USUAL)
    }

    /// Looks for signs of a person in crisis in a text.
    pub fn screen(&self, text: &str, session: Option<&str>) -> Result<serde_json::Value, Error> {
        let body = serde_json::json!({ "text": text, "session": session }).to_string();
        self.post("/v1/screen", &body, None, USUAL)
    }

    /// Asks about several calls at once.
    pub fn batch(&self, calls: &[Question], timeout: Option<u32>) -> Result<Batch, Error> {
        let calls: Vec<String> = calls.iter().map(Question::body).collect();
        let time = timeout.map_or(String::new(), |s| format!(",\"timeout_seconds\":{s}"));
        let body = format!("{{\"calls\":[{}]{time}}}", calls.join(","));
        let batch: Batch = self.post("/v1/batches", &body, Some(&fresh_key()?), USUAL)?;
        if batch.requests.len() == calls.len() {
            Ok(batch)
        } else {
            Err(Error::Unexpected("not every call of the batch was answered".to_owned()))
        }
    }

    /// The batch, once all have ended or so many seconds are over.
    pub fn wait_batch(&self, group: &str, seconds: u64) -> Result<Batch, Error> {
        let path = format!("/v1/batches/{}/wait?seconds={seconds}", segment(group)?);
        self.read(&path, Duration::from_secs(seconds) + USUAL)
    }

    /// What happens to own requests, as it happens.
    pub fn events(&self) -> Result<Events, Error> {
        Events::open(&self.endpoint, self.token.as_deref())
    }

    /// How many requests wait, from the daemon's own word that it lives. Needs no credential.
    pub fn health(&self) -> Result<u64, Error> {
        #[derive(Deserialize)]
        struct Health {
            service: String,
            pending: u64,
        }
        let health: Health = self.read("/health", Duration::from_secs(3))?;
        if health.service == "countersign" {
            Ok(health.pending)
        } else {
            Err(Error::Unexpected("another service answers there".to_owned()))
        }
    }

    /// Whether anything can be approved. Needs no credential.
    pub fn ready(&self) -> Result<(), Error> {
        self.read::<serde_json::Value>("/ready", Duration::from_secs(10)).map(|_| ())
    }

    /// A request under the name that was asked for, or an error.
    fn same(&self, id: &str, found: Request) -> Result<Request, Error> {
        if found.id.as_deref() == Some(id) {
            Ok(found)
        } else {
            Err(Error::Unexpected(format!("{} answered for another request", self.endpoint)))
        }
    }

    fn read<T: DeserializeOwned>(&self, path: &str, patience: Duration) -> Result<T, Error> {
        self.send("GET", path, None, None, patience)
    }

    fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &str,
        key: Option<&str>,
        patience: Duration,
    ) -> Result<T, Error> {
        self.send("POST", path, Some(body), key, patience)
    }

    fn send<T: DeserializeOwned>(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&str>,
        key: Option<&str>,
        patience: Duration,
    ) -> Result<T, Error> {
        let token = self.token.as_deref();
        let accept = "application/json";
        let step_up = None;
        let exchange = Exchange { method, path, token, key, step_up, body, accept, patience };
        let (_, text) = http::whole(&self.endpoint, &exchange)?;
        parse_json(&text)
    }
}

/// The text at a public path of an endpoint; no credential is sent.
pub fn fetch(endpoint: &Endpoint, path: &str) -> Result<String, Error> {
    let exchange = Exchange {
        method: "GET",
        path,
        token: None,
        key: None,
        step_up: None,
        body: None,
        accept: "*/*",
        patience: USUAL,
    };
    Ok(http::whole(endpoint, &exchange)?.1)
}

/// JSON as it must be, or an error.
pub fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::Unexpected(error.to_string()))
}

/// A part of a path: ids and names only, so that nothing leads elsewhere.
pub fn segment(text: &str) -> Result<&str, Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    let fits = (1..=128).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('.');
    if fits { Ok(text) } else { Err(Error::Input(format!("`{text}` is no name of anything"))) }
}

/// A key that nobody else has.
pub fn fresh_key() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Input(format!("no randomness: {error}")))?;
    Ok(base64::encode_url(&bytes))
}
