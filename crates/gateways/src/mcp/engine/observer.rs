//! What the proxy learns from the messages of a server.

use std::sync::{Arc, Mutex, PoisonError};

use countersign_client::ReportStatus;

use crate::mcp::continuation::Continuations;
use crate::mcp::known_tools::{KnownTools, ToolStatus};
use crate::mcp::message::{RequestId, ToolCall};
use crate::mcp::raw_json;
use crate::mcp::reporter::{Reporter, RunningCall};
use crate::mcp::server_message::{self, ServerMessage};
use crate::mcp::threads::{self, run_blocking};
use crate::mcp::tool_labels::LabelledServer;

/// What is known about one server.
#[derive(Debug)]
pub struct ServerKnowledge {
    pub tools: Arc<KnownTools>,
    pub reporter: Arc<Reporter>,
    labels: Arc<LabelledServer>,
    continuations: Mutex<Continuations>,
    version: Mutex<Option<String>>,
}

/// What the response to a request is used for.
#[derive(Debug)]
pub enum ResponseWatch {
    /// Nothing.
    Nothing,
    /// The server's instructions and protocol version.
    Initialize,
    /// The list of tools.
    List,
    /// The outcome of an approved call.
    Outcome(OutcomeGuard),
}

/// A request whose response is expected.
#[derive(Debug)]
pub struct ExpectedResponse {
    pub id: RequestId,
    pub watch: ResponseWatch,
}

/// An approved call that runs. An outcome is reported in any case: without a response it is an
/// error.
#[derive(Debug)]
pub struct OutcomeGuard {
    call: Option<RunningCall>,
    reporter: Arc<Reporter>,
    why_unanswered: String,
}

impl OutcomeGuard {
    fn new(call: RunningCall, reporter: Arc<Reporter>) -> OutcomeGuard {
        let why_unanswered = "the client left, or the server did not answer".to_owned();
        OutcomeGuard { call: Some(call), reporter, why_unanswered }
    }
}

impl Drop for OutcomeGuard {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.reporter.report_outcome(&call, ReportStatus::Error, &self.why_unanswered);
        }
    }
}

impl ResponseWatch {
    /// Ends without a response.
    pub fn abandon(self, why: &str) {
        if let ResponseWatch::Outcome(mut guard) = self {
            why.clone_into(&mut guard.why_unanswered);
        }
    }

    /// Whether an outcome is to be reported.
    pub fn has_outcome(&self) -> bool {
        matches!(self, ResponseWatch::Outcome(_))
    }
}

impl ServerKnowledge {
    /// Nothing is known yet.
    pub fn new(
        tools: KnownTools,
        reporter: Reporter,
        labels: LabelledServer,
    ) -> Arc<ServerKnowledge> {
        Arc::new(ServerKnowledge {
            tools: Arc::new(tools),
            reporter: Arc::new(reporter),
            labels: Arc::new(labels),
            continuations: Mutex::default(),
            version: Mutex::default(),
        })
    }

    /// The protocol version that the server agreed on.
    pub fn version(&self) -> Option<String> {
        self.version.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An approved call runs from now on.
    pub fn watch_outcome(&self, call: RunningCall) -> ResponseWatch {
        ResponseWatch::Outcome(OutcomeGuard::new(call, Arc::clone(&self.reporter)))
    }

    /// The approved call that this call continues, if it does.
    pub fn take_continuation(&self, call: &ToolCall<'_>) -> Option<RunningCall> {
        self.continuations.lock().unwrap_or_else(PoisonError::into_inner).take(call)
    }

    /// Learns from every message in a text of the server: one message, or a batch.
    pub async fn observe(&self, text: &str, expected: &mut Vec<ExpectedResponse>) {
        if !text.trim_start().starts_with('[') {
            return self.observe_message(text, expected).await;
        }
        for part in raw_json::items(text).unwrap_or_default() {
            self.observe_message(part, expected).await;
        }
    }

    async fn observe_message(&self, text: &str, expected: &mut Vec<ExpectedResponse>) {
        match server_message::read(text) {
            Some(ServerMessage::ListChanged) => self.tools.mark_stale(),
            Some(ServerMessage::Response { id, result }) => {
                if let Some(at) = expected.iter().position(|one| one.id == id) {
                    self.learn(expected.swap_remove(at).watch, result).await;
                }
            }
            Some(ServerMessage::Progress { .. }) | None => {}
        }
    }

    /// Learns from the response to a request: the text of its result or error.
    pub async fn learn(&self, watch: ResponseWatch, result: Result<&str, &str>) {
        match (watch, result) {
            (ResponseWatch::Initialize, Ok(result)) => self.learn_instructions(result).await,
            // After an unreadable list every call is asked about.
            (ResponseWatch::List, Ok(result)) => drop(self.learn_page(result).await),
            (ResponseWatch::Outcome(mut guard), result) => {
                let Some(call) = guard.call.take() else { return };
                if let Ok(result) = result {
                    let known = self.continuations.lock();
                    known.unwrap_or_else(PoisonError::into_inner).remember(&call, result);
                }
                self.reporter.report_result(&call, result);
            }
            (ResponseWatch::Nothing | ResponseWatch::Initialize | ResponseWatch::List, _) => {}
        }
    }

    /// Learns a page of the list of tools. Returns the cursor of the next page.
    pub async fn learn_page(&self, result: &str) -> Result<Option<String>, String> {
        let (tools, text) = (Arc::clone(&self.tools), result.to_owned());
        let labels = Arc::clone(&self.labels);
        let learn = move || {
            let learned = tools.learn_page(&text);
            // The daemon is told about the whole list.
            if learned == Ok(None) {
                labels.tell(&tools.told_tools());
            }
            learned
        };
        let learned = run_blocking(learn).await;
        learned.unwrap_or_else(|error| {
            let why = error.to_string();
            self.tools.distrust(&why);
            Err(why)
        })
    }

    /// What is known about the tool of a call. Old labels are read again in the background.
    pub fn status(&self, tool: &str) -> ToolStatus {
        if self.labels.must_refresh() {
            let (tools, labels) = (Arc::clone(&self.tools), Arc::clone(&self.labels));
            // Without a thread the labels stay as they are until the next call.
            drop(threads::start(move || labels.tell(&tools.told_tools())));
        }
        let definition = self.tools.definition(tool);
        let claim = definition.and_then(|definition| self.labels.claim(tool, &definition));
        ToolStatus { claim, label: self.labels.label(tool), ..self.tools.status(tool) }
    }

    async fn learn_instructions(&self, result: &str) {
        if let Some(version) = server_message::version(result) {
            *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
        }
        let (tools, text) = (Arc::clone(&self.tools), result.to_owned());
        if let Err(error) = run_blocking(move || tools.learn_instructions(&text)).await {
            self.tools.distrust(&error.to_string());
        }
    }
}

/// Reports the outcome of calls that were sent but got no response: the text of the error.
pub async fn fail_all(knowledge: &ServerKnowledge, expected: Vec<ExpectedResponse>, why: &str) {
    for one in expected {
        knowledge.learn(one.watch, Err(why)).await;
    }
}
