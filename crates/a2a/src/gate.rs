//! Asks the daemon about a task. Every failure means that the task does not run.

use std::time::{Duration, Instant};

use countersign_client::{AgentClient, CallRequest, Error, Outcome, RequestRecord, RunReport};
use countersign_json::canonical::Digest;
use countersign_types::tier::Tier;
use serde_json::Value;

use crate::artifact::question_of;
use crate::task::{ApprovedContent, DelegatedTask, TaskQuestion};
use crate::task_call::{approved_content, screened_text, task_arguments};

/// How much of a result people see in the inbox, in characters.
const SUMMARY: usize = 1000;

/// How the report of a run begins that ended with a question to the sender. The page of tasks shows
/// it as that.
const QUESTION: &str = "Asked its sender: ";
/// The status of a call that a limit refused, and when it is tried again, in seconds.
const TOO_MANY: u16 = 429;
const BUSY: u32 = 10;
const MAX_BUSY: u32 = 30;
/// How long a task may wait for others after it passed without a request.
const PASS_TIME: Duration = Duration::from_secs(1);

/// What the gate says about a task.
#[derive(Debug)]
pub enum TaskDecision {
    /// It may run.
    Approved(Box<ApprovedTask>),
    /// A person decides; ask again later.
    Pending(TaskQuestion),
    /// The rules or a person refused it.
    Denied(String),
    /// No person answered in time.
    Expired,
    /// The request was withdrawn.
    Withdrawn,
    /// The gate cannot answer now.
    Unreachable(String),
    /// Too many questions are open; ask again after this time.
    Busy(Duration),
    /// The gate's answer cannot be used.
    Failed(String),
}

/// A task that may run, once.
#[derive(Debug)]
pub struct ApprovedTask {
    /// What runs: a person may have edited it.
    pub content: ApprovedContent,
    request: Option<String>,
    permit: Option<String>,
    /// When the gate answered.
    at: Instant,
    call: CallRequest,
}

impl ApprovedTask {
    /// The request that was approved, if a record of it is kept.
    pub fn request(&self) -> Option<&str> {
        self.request.as_deref()
    }

    /// Whether it passed without a request, by a rule or because the gate only observes: there is
    /// no permit.
    pub fn is_pass(&self) -> bool {
        self.request.is_none()
    }

    /// Whether it passed so long ago that the gate must be asked again: a person may have frozen
    /// everything since.
    pub fn is_old_pass(&self) -> bool {
        self.is_pass() && self.at.elapsed() > PASS_TIME
    }
}

/// The gate of a node.
#[derive(Debug, Clone)]
pub struct NodeGate {
    /// The client of the daemon.
    pub agent: AgentClient,
    /// The start of the links to requests in the inbox.
    pub inbox: Option<String>,
    /// How long a person has, in seconds.
    pub deadline: u32,
}

impl NodeGate {
    /// Screens the text of a task, once before it is submitted: signs of a crisis put the session
    /// into its protocol before the call is assessed.
    pub fn screen(&self, task: &DelegatedTask) -> Result<(), TaskDecision> {
        let session = format!("a2a:{}", task.peer);
        let screened = self.agent.screen_as("user", &screened_text(task), Some(&session));
        screened.map(drop).map_err(|error| failed(&error))
    }

    /// Submits a task that was screened. The same task is submitted once, however often this is
    /// called.
    pub fn submit(&self, task: &DelegatedTask, max_tier: Option<Tier>) -> TaskDecision {
        let call = match self.call(task) {
            Ok(call) => call,
            Err(error) => return failed(&error),
        };
        if let Some(refused) = self.above(&call, max_tier) {
            return refused;
        }
        match self.agent.submit(&call) {
            Ok(record) => self.answer(task, record),
            Err(error) => failed(&error),
        }
    }

    /// The refusal of a task above the highest tier that its sender may ask for.
    fn above(&self, call: &CallRequest, max_tier: Option<Tier>) -> Option<TaskDecision> {
        let max = max_tier?;
        let assessed = match self.agent.assess(call) {
            Ok(assessed) => assessed,
            Err(error) => return Some(failed(&error)),
        };
        let tier = assessed.get("tier").and_then(Value::as_str).and_then(Tier::parse);
        match tier {
            Some(tier) if tier <= max => None,
            _ => Some(TaskDecision::Denied(format!(
                "its sender may ask for at most {}",
                max.label()
            ))),
        }
    }

    /// Waits some seconds for the decision about a task that was submitted.
    pub fn wait(&self, task: &DelegatedTask, request: &str, seconds: u64) -> TaskDecision {
        let found = match seconds {
            0 => self.agent.get(request),
            seconds => self.agent.wait(request, seconds),
        };
        match found {
            Ok(record) => self.answer(task, record),
            Err(error) => failed(&error),
        }
    }

    /// Uses up the approval. Nothing runs without this.
    pub fn redeem(&self, approved: &ApprovedTask) -> Result<(), Error> {
        if approved.is_pass() {
            // The daemon signed that the call passes: there is no permit, and nothing is held.
            return Ok(());
        }
        let unexpected = |why: &str| Error::Unexpected(why.to_owned());
        let permit = approved.permit.as_deref();
        let permit = permit.ok_or_else(|| unexpected("the approval expired or was used before"))?;
        let used = self.agent.redeem(permit, &approved.call)?;
        match &approved.request {
            Some(request) if *request != used.request => {
                Err(unexpected("the permit is for another request"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the daemon signs that the permit of an approval was used.
    pub fn is_redeemed(&self, approved: &ApprovedTask) -> bool {
        let record = approved.request().map(|request| self.agent.get(request));
        record.is_some_and(|record| record.is_ok_and(|record| record.redeemed.is_some()))
    }

    /// Reports how a task ended, for the ledger.
    pub fn report(&self, approved: &ApprovedTask, ran: &RunReport) -> Result<(), Error> {
        match &approved.request {
            Some(request) => self.agent.report_run(request, ran).map(drop),
            None => self.agent.report_outcome(&approved.call, ran).map(drop),
        }
    }

    /// Reports that a task neither completed nor will run again.
    pub fn report_stop(&self, request: &str, why: &str) {
        let ran = RunReport { failed: true, summary: Some(why.to_owned()), ..RunReport::default() };
        if let Err(error) = self.agent.report_run(request, &ran) {
            tracing::warn!(%error, "the end of a task was not reported");
        }
    }

    /// Withdraws the question about a task.
    pub fn withdraw(&self, request: &str) {
        if let Err(error) = self.agent.cancel(request) {
            tracing::warn!(%error, "the request of a canceled task was not withdrawn");
        }
    }

    fn call(&self, task: &DelegatedTask) -> Result<CallRequest, Error> {
        let mut call = CallRequest::tool("delegate_task", &task_arguments(task).to_string())?;
        call.session = Some(format!("a2a:{}", task.peer));
        call.platform = Some("api".to_owned());
        call.project = None;
        call.description = Some(format!("Task from agent {}", task.chain.join(" → ")));
        call.timeout_seconds = Some(self.deadline);
        // A task that passes needs no permit: it runs at once or is asked about again.
        call.entry_only = true;
        // A task may have to wait for others to end, or for this node to be started again.
        call.returns = true;
        call.key = Some(match task.further.len() {
            0 => format!("a2a-{}", task.id),
            answers => format!("a2a-{}-{answers}", task.id),
        });
        Ok(call)
    }

    fn answer(&self, task: &DelegatedTask, record: RequestRecord) -> TaskDecision {
        let question = record.id.as_ref().map(|id| TaskQuestion {
            request: id.clone(),
            words: record.phrase.clone(),
            link: self.inbox.as_ref().map(|inbox| format!("{inbox}/requests/{id}")),
        });
        match Outcome::of(record) {
            Err(error) => failed(&error),
            Ok(None) => question.map_or_else(
                || TaskDecision::Failed("a pending request has no id".to_owned()),
                TaskDecision::Pending,
            ),
            Ok(Some(Outcome::Approved(approval))) => {
                let record = approval.request();
                self.approved(task, record, approval.permit())
            }
            Ok(Some(Outcome::Denied(record))) => TaskDecision::Denied(record.reason().to_owned()),
            Ok(Some(Outcome::Expired(_))) => TaskDecision::Expired,
            Ok(Some(Outcome::Cancelled(_))) => TaskDecision::Withdrawn,
        }
    }

    fn approved(
        &self,
        task: &DelegatedTask,
        record: &RequestRecord,
        permit: Option<&str>,
    ) -> TaskDecision {
        let edited = record.edited_arguments.as_ref();
        let content = match approved_content(task, edited) {
            Ok(content) => content,
            Err(why) => return TaskDecision::Failed(why.to_owned()),
        };
        let call = self.call(task).and_then(|call| match edited {
            None => Ok(call),
            Some(edited) => call.with_arguments(&edited.to_string()),
        });
        match call {
            Ok(call) => TaskDecision::Approved(Box::new(ApprovedTask {
                content,
                request: record.id.clone(),
                permit: permit.map(ToOwned::to_owned),
                at: Instant::now(),
                call,
            })),
            Err(error) => failed(&error),
        }
    }
}

fn failed(error: &Error) -> TaskDecision {
    let problem = error.problem().filter(|problem| problem.status == TOO_MANY);
    if let Some(problem) = problem {
        // The limit protects people; it says nothing about this task.
        let seconds = problem.retry_after.map_or(BUSY, |seconds| seconds.clamp(1, MAX_BUSY));
        return TaskDecision::Busy(Duration::from_secs(u64::from(seconds)));
    }
    match error {
        Error::Denied(problem) => TaskDecision::Denied(problem.detail.clone()),
        error if error.is_transient() => TaskDecision::Unreachable(error.to_string()),
        error => TaskDecision::Failed(error.to_string()),
    }
}

/// The report of a run: how it ended, and the start of its result or why it failed.
pub fn run_report(result: &Result<Value, String>, took: Duration) -> RunReport {
    let (text, digest) = match result {
        Ok(artifact) => {
            let whole = artifact.to_string();
            let digest = Digest::of(whole.as_bytes()).to_string();
            let text = artifact.get("text").and_then(Value::as_str);
            let asked = question_of(artifact).map(|question| format!("{QUESTION}{question}"));
            let text = asked.unwrap_or_else(|| text.map_or(whole, ToOwned::to_owned));
            (text, Some(digest))
        }
        Err(why) => (why.clone(), None),
    };
    RunReport {
        failed: result.is_err(),
        duration_ms: u64::try_from(took.as_millis()).ok(),
        result_digest: digest,
        summary: Some(text.chars().take(SUMMARY).collect()),
        ..RunReport::default()
    }
}
