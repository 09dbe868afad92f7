//! The client: sends tasks to other agents and reads what became of them.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use countersign_client::new_idempotency_key;
use countersign_tls::rustls::ClientConfig;
use countersign_tls::{FleetTrust, refusal};
use countersign_types::time::Timestamp;
use serde_json::{Value, json};

use crate::card_signature::{CardProof, verify_card};
use crate::chain::CHAIN;
use crate::clock::now;
use crate::http::{AgentUrl, MAX_RESPONSE, exchange};
use crate::methods::strict_json_within;
use crate::node::new_id;
use crate::object::set;
use crate::state::TaskState;

/// How long one exchange may take; a send waits until its task has ended or needs a person.
const TIMEOUT: Duration = Duration::from_secs(90);

/// Where an agent's card is.
const CARD_PATH: &str = "/.well-known/agent-card.json";

/// Why a remote agent gave no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum DelegationError {
    /// It was not reached, or its certificate was refused.
    #[error("{url} was not reached: {why}")]
    Unreachable {
        /// Its address.
        url: String,
        /// What happened.
        why: String,
    },
    /// Its answer is not valid.
    #[error("{0} sent an invalid response: {1}")]
    Invalid(String, String),
    /// It refused.
    #[error("{message}")]
    Refused {
        /// The number of the error.
        code: i64,
        /// What it said.
        message: String,
    },
    /// The task has not ended in time.
    #[error("task {0} did not end in time; its state is {1}")]
    TimedOut(String, String),
}

/// A client of one remote agent.
#[derive(Debug, Clone)]
pub struct RemoteAgent {
    url: AgentUrl,
    config: Arc<ClientConfig>,
}

/// A task to be sent.
#[derive(Debug, Clone, Default)]
pub struct OutgoingTask {
    /// What to do.
    pub text: String,
    /// A label for the receiver; it proves nothing.
    pub requester: Option<String>,
    /// Who asked this agent, the first one first.
    pub chain: Vec<String>,
    /// Further members for the receiver; an object, or null for none.
    pub metadata: Value,
    /// The task whose question this answers, if it does.
    pub answers: Option<String>,
}

/// What an agent answers to a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskResponse {
    /// The task.
    Task(Value),
    /// A message; there is no task to read.
    Message(Value),
}

impl RemoteAgent {
    /// The agent at this address.
    pub fn new(url: AgentUrl, config: Arc<ClientConfig>) -> RemoteAgent {
        RemoteAgent { url, config }
    }

    /// Its card. What it says about itself is not checked; see [`RemoteAgent::checked_card`].
    pub fn card(&self) -> Result<Value, DelegationError> {
        Ok(self.card_and_agent()?.0)
    }

    /// Its card, and the agent that signed it; nothing if no agent of the fleet did. A signature
    /// that does not fit, or of another agent than the one that answers, is an error.
    pub fn checked_card(
        &self,
        trust: &FleetTrust,
    ) -> Result<(Value, Option<String>), DelegationError> {
        let invalid = |why: String| Err(DelegationError::Invalid(self.name(), why));
        let (card, answered) = self.card_and_agent()?;
        match verify_card(&card, trust, Timestamp(now())) {
            CardProof::Unknown => Ok((card, None)),
            CardProof::Invalid => invalid("the signature of its card is not valid".to_owned()),
            CardProof::Signed { agent, .. } if answered.as_ref() != Some(&agent) => {
                invalid(format!("its card is signed by another agent, {agent}"))
            }
            CardProof::Signed { agent, content } => Ok((content, Some(agent))),
        }
    }

    fn card_and_agent(&self) -> Result<(Value, Option<String>), DelegationError> {
        let path = format!("{}{CARD_PATH}", self.url.path);
        match self.exchange("GET", &path, None) {
            // The address may be the one for JSON-RPC, as a card names it.
            Err(DelegationError::Invalid(..)) if !self.url.path.is_empty() => {
                self.exchange("GET", CARD_PATH, None)
            }
            found => found,
        }
    }

    /// The same agent, with the path for JSON-RPC that its card names. A card cannot name another
    /// host: the certificate of this one was checked.
    #[must_use]
    pub fn following(mut self, card: &Value) -> RemoteAgent {
        let interfaces = card.get("supportedInterfaces").and_then(Value::as_array);
        let named = interfaces.into_iter().flatten().find_map(|one| {
            let word = |name: &str| one.get(name).and_then(Value::as_str);
            let is_rpc = word("protocolBinding") == Some("JSONRPC");
            let url = AgentUrl::parse(word("url").filter(|_| is_rpc)?).ok()?;
            (url.authority == self.url.authority).then_some(url.path)
        });
        self.url.path = named.unwrap_or(self.url.path);
        self
    }

    /// Sends a task; returns it at once.
    pub fn send(&self, task: &OutgoingTask) -> Result<Value, DelegationError> {
        match self.deliver(task)? {
            TaskResponse::Task(task) => Ok(task),
            TaskResponse::Message(_) => {
                Err(DelegationError::Invalid(self.name(), "a message instead of a task".to_owned()))
            }
        }
    }

    /// Sends a task; returns it at once, or the message that answers it.
    pub fn deliver(&self, task: &OutgoingTask) -> Result<TaskResponse, DelegationError> {
        let id = new_id(now())
            .map_err(|error| DelegationError::Invalid(self.name(), error.to_string()))?;
        let mut metadata = task.metadata.clone();
        if !metadata.is_object() {
            metadata = json!({});
        }
        if !task.chain.is_empty() {
            set(&mut metadata, CHAIN, json!(task.chain));
        }
        if let Some(label) = &task.requester {
            set(&mut metadata, "requester", json!(label));
        }
        let mut message =
            json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": task.text }] });
        if let Some(answers) = &task.answers {
            set(&mut message, "taskId", json!(answers));
        }
        let configuration = json!({ "returnImmediately": true });
        let result = self.call(
            "SendMessage",
            &json!({ "message": message, "configuration": configuration, "metadata": metadata }),
        )?;
        let member = |name: &str| result.get(name).filter(|value| value.is_object()).cloned();
        let task = member("task").map(TaskResponse::Task);
        let response = task.or_else(|| member("message").map(TaskResponse::Message));
        response.ok_or_else(|| DelegationError::Invalid(self.name(), "no task".to_owned()))
    }

    /// Reads a task.
    pub fn get(&self, id: &str) -> Result<Value, DelegationError> {
        self.call("GetTask", &json!({ "id": id }))
    }

    /// Cancels a task.
    pub fn cancel(&self, id: &str) -> Result<Value, DelegationError> {
        self.call("CancelTask", &json!({ "id": id }))
    }

    /// Reads a task until it has ended or asks its sender. `seen` gets each new state.
    pub fn wait(
        &self,
        id: &str,
        (timeout, pause): (Duration, Duration),
        mut seen: impl FnMut(TaskState, &Value),
    ) -> Result<Value, DelegationError> {
        let end = Instant::now() + timeout;
        let mut before = None;
        loop {
            let task = self.get(id)?;
            let state = task.pointer("/status/state").and_then(Value::as_str).unwrap_or_default();
            let known = TaskState::parse(state);
            if let Some(known) = known.filter(|known| before != Some(*known)) {
                seen(known, &task);
            }
            before = known;
            if known.is_some_and(|known| known.is_final() || known == TaskState::InputRequired) {
                return Ok(task);
            }
            if Instant::now() >= end {
                return Err(DelegationError::TimedOut(id.to_owned(), state.to_owned()));
            }
            thread::sleep(pause);
        }
    }

    /// Calls a method of JSON-RPC.
    pub fn call(&self, method: &str, params: &Value) -> Result<Value, DelegationError> {
        let id = new_idempotency_key()
            .map_err(|error| DelegationError::Invalid(self.name(), error.to_string()))?;
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let path = match self.url.path.as_str() {
            "" => "/a2a/rpc",
            path => path,
        };
        let (answer, _) = self.exchange("POST", path, Some(&body.to_string()))?;
        if answer.get("id").and_then(Value::as_str) != Some(&id) {
            return Err(DelegationError::Invalid(self.name(), "for another request".to_owned()));
        }
        match (answer.get("result"), answer.get("error")) {
            (Some(result), None) => Ok(result.clone()),
            (_, Some(error)) => Err(DelegationError::Refused {
                code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
                message: error.get("message").and_then(Value::as_str).unwrap_or("refused").into(),
            }),
            (None, None) => Err(DelegationError::Invalid(self.name(), "no result".to_owned())),
        }
    }

    fn exchange(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Result<(Value, Option<String>), DelegationError> {
        let sent = exchange(&self.config, &self.url, (method, path, body), TIMEOUT);
        let reply = sent.map_err(|error| DelegationError::Unreachable {
            url: self.name(),
            why: refusal(&error)
                .map_or_else(|| error.to_string(), |why| format!("its certificate: {why}")),
        })?;
        let invalid = |why: String| DelegationError::Invalid(self.name(), why);
        if reply.status != 200 {
            return Err(invalid(format!("status {}", reply.status)));
        }
        // A result alone may have as many bytes as a request.
        let value = strict_json_within(&reply.body, MAX_RESPONSE);
        Ok((value.map_err(|error| invalid(error.to_string()))?, reply.agent))
    }

    fn name(&self) -> String {
        format!("https://{}", self.url.authority)
    }
}
