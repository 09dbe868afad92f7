//! The path of one task: ask the gate, wait for a person, run, report.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use countersign_client::{Error, RunReport};
use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::artifact::{question_of, reply_of, reply_text};
use crate::error::A2aError;
use crate::gate::{ApprovedTask, TaskDecision, run_report};
use crate::node::A2aNode;
use crate::state::TaskState;
use crate::task::{DelegatedTask, TaskQuestion};

/// How long one wait at the daemon takes, in seconds.
const WAIT: u64 = 20;
/// How often the daemon is asked about a task for which no wait is free. The pause grows with the
/// number of such tasks, so that the daemon gets some 250 questions in a second at most.
const POLL: Duration = Duration::from_secs(2);
const POLLED: usize = 500;
/// How long a gate that does not answer is tried, and how often.
const RETRY: Duration = Duration::from_millis(500);
const GATE_TIMEOUT: Duration = Duration::from_mins(1);
/// How long the report of a run is tried.
const REPORT_TIMEOUT: Duration = Duration::from_mins(10);
/// How long a task waits until there is room for its question.
const BUSY_TIMEOUT: Duration = Duration::from_hours(1);

impl A2aNode {
    /// Brings a task to its end. Errors of the file of tasks leave it where it is: it goes on at
    /// the next start.
    pub(crate) async fn drive(self: Arc<A2aNode>, id: String) {
        if let Err(error) = self.steps(&id).await {
            tracing::error!(task = id, %error, "a task was left open");
        }
    }

    async fn steps(self: &Arc<A2aNode>, id: &str) -> Result<(), A2aError> {
        let (mut silent, mut refused) = (None::<Instant>, None::<Instant>);
        loop {
            let task = self.any_task(id)?;
            let waits = matches!(task.state(), TaskState::Working | TaskState::InputRequired);
            if task.state().is_final() || waits {
                return Ok(());
            }
            match self.ask(task, refused.is_some()).await {
                TaskDecision::Pending(question) => {
                    silent = None;
                    self.wait_for_person(id, question)?;
                }
                TaskDecision::Approved(approved) => return self.run(id, *approved).await,
                TaskDecision::Denied(reason) => {
                    let note = match reason.as_str() {
                        "" => "The task was denied.".to_owned(),
                        reason => format!("The task was denied: {reason}"),
                    };
                    return self.end(id, TaskState::Rejected, &note);
                }
                TaskDecision::Expired => {
                    return self.end(id, TaskState::Failed, "No person answered in time.");
                }
                TaskDecision::Withdrawn => {
                    return self.end(id, TaskState::Failed, "The request was withdrawn.");
                }
                TaskDecision::Failed(why) => {
                    tracing::error!(task = id, why, "the gate's answer cannot be used");
                    return self.end(id, TaskState::Failed, "The gate could not be asked.");
                }
                TaskDecision::Busy(wait) => {
                    silent = None;
                    let since = *refused.get_or_insert_with(Instant::now);
                    if since.elapsed() > BUSY_TIMEOUT {
                        let note = "Too many questions of this sender are open.";
                        return self.end(id, TaskState::Failed, note);
                    }
                    self.pause(wait).await;
                }
                TaskDecision::Unreachable(why) => {
                    let since = *silent.get_or_insert_with(Instant::now);
                    if since.elapsed() > GATE_TIMEOUT {
                        tracing::error!(task = id, why, "the gate does not answer");
                        return self.end(id, TaskState::Failed, "The gate does not answer.");
                    }
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// Asks the gate about a task; while a person decides, this takes a while.
    async fn ask(self: &Arc<A2aNode>, task: DelegatedTask, is_screened: bool) -> TaskDecision {
        let gate = self.gate.clone();
        let asked = match task.question.clone() {
            None => {
                let max_tier = self.limits(&task.peer).max_tier;
                let _turn = self.askers_of_peer.acquire(&task.peer).await;
                let _asker = self.askers.acquire().await;
                spawn_blocking(move || {
                    if is_screened {
                        gate.submit_screened(&task, max_tier)
                    } else {
                        gate.submit(&task, max_tier)
                    }
                })
                .await
            }
            Some(question) => {
                if let Ok(_waiter) = self.waiters.try_acquire() {
                    spawn_blocking(move || gate.wait(&task, &question.request, WAIT)).await
                } else {
                    self.pause(POLL).await;
                    let _asker = self.askers.acquire().await;
                    spawn_blocking(move || gate.wait(&task, &question.request, 0)).await
                }
            }
        };
        asked.unwrap_or_else(|error| TaskDecision::Failed(error.to_string()))
    }

    /// Waits before the daemon is asked again; longer if many tasks wait.
    async fn pause(&self, at_least: Duration) {
        let others = self.polled.fetch_add(1, Ordering::Relaxed) / POLLED;
        let factor = u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1);
        sleep(at_least.max(POLL.saturating_mul(factor))).await;
        self.polled.fetch_sub(1, Ordering::Relaxed);
    }

    fn wait_for_person(&self, id: &str, question: TaskQuestion) -> Result<(), A2aError> {
        if self.any_task(id)?.state() == TaskState::AuthRequired {
            return Ok(());
        }
        let link = question.link.as_ref().map(|link| format!(" at {link}")).unwrap_or_default();
        let note = format!(
            "A person must approve this task: {} (request {}){link}",
            question.words, question.request
        );
        let advanced = self.advance(id, TaskState::AuthRequired, &note, |task| {
            task.question = Some(question.clone());
        })?;
        if advanced.is_none() {
            // Its sender canceled it before the gate had answered.
            let gate = self.gate.clone();
            spawn_blocking(move || gate.withdraw(&question.request));
        }
        Ok(())
    }

    /// Runs a task that the gate approved. It is durably working before the permit is used, so that
    /// it never runs twice.
    async fn run(self: &Arc<A2aNode>, id: &str, approved: ApprovedTask) -> Result<(), A2aError> {
        let peer = self.any_task(id)?.peer;
        let _turn = self.runners_of_peer.acquire(&peer).await;
        let Ok(_runner) = self.runners.acquire().await else { return Ok(()) };
        let mut watch = self.watch(id);
        let Some(task) = self.advance(id, TaskState::Working, "Task is running", |task| {
            task.approve(&approved.content);
            task.request = approved.request().map(ToOwned::to_owned);
        })?
        else {
            return Ok(());
        };
        let approved = Arc::new(approved);
        if let Err(error) = self.redeem(&approved).await {
            tracing::error!(task = id, %error, "the approval could not be used");
            return self.end(id, TaskState::Failed, "The approval could not be used.");
        }
        let start = Instant::now();
        let result = tokio::select! {
            result = self.executor.run(&task, &approved.content.text) => result,
            () = self.canceled(id, &mut watch) => Err("canceled by its sender".to_owned()),
        };
        let report = run_report(&result, start.elapsed());
        let ended = match result {
            Ok(artifact) if question_of(&artifact).is_some() => {
                let question = question_of(&artifact).unwrap_or_default();
                self.advance(id, TaskState::InputRequired, question, |_| {})
            }
            Ok(artifact) => self.complete(id, &artifact),
            Err(why) => self.advance(id, TaskState::Failed, &format!("Task failed: {why}"), |_| {}),
        };
        tokio::spawn(Arc::clone(self).report(approved, report));
        ended.map(drop)
    }

    /// Reports how a run ended. A daemon that does not answer is tried for a while.
    async fn report(self: Arc<A2aNode>, approved: Arc<ApprovedTask>, ran: RunReport) {
        let (start, ran) = (Instant::now(), Arc::new(ran));
        loop {
            let (gate, used, ran) = (self.gate.clone(), Arc::clone(&approved), Arc::clone(&ran));
            match spawn_blocking(move || gate.report(&used, &ran)).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) if error.is_transient() && start.elapsed() < REPORT_TIMEOUT => {
                    sleep(RETRY).await;
                }
                Ok(Err(error)) => {
                    return tracing::warn!(%error, "the outcome of a task was not reported");
                }
                Err(error) => {
                    return tracing::error!(%error, "the outcome of a task was not reported");
                }
            }
        }
    }

    /// Uses up an approval. A daemon that does not answer is tried for a while: the permit counts
    /// once, so the task still runs at most once.
    async fn redeem(&self, approved: &Arc<ApprovedTask>) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            let (gate, used) = (self.gate.clone(), Arc::clone(approved));
            let redeemed = spawn_blocking(move || gate.redeem(&used)).await;
            match redeemed.unwrap_or_else(|error| Err(Error::Unexpected(error.to_string()))) {
                Err(error) if error.is_transient() && start.elapsed() < GATE_TIMEOUT => {
                    sleep(RETRY).await;
                }
                redeemed => return redeemed,
            }
        }
    }

    /// Ends when the task has been canceled.
    async fn canceled(&self, id: &str, watch: &mut tokio::sync::watch::Receiver<i64>) {
        loop {
            if self.any_task(id).is_ok_and(|task| task.state() == TaskState::Canceled) {
                return;
            }
            if watch.changed().await.is_err() {
                // The last state is final: either canceled, or this run has ended it.
                if self.any_task(id).is_ok_and(|task| task.state() == TaskState::Canceled) {
                    return;
                }
                std::future::pending::<()>().await;
            }
        }
    }

    fn complete(&self, id: &str, artifact: &Value) -> Result<Option<DelegatedTask>, A2aError> {
        let Some(reply) = reply_of(artifact) else {
            return self.advance(id, TaskState::Completed, "Task completed", |task| {
                task.artifacts = vec![artifact.clone()];
            });
        };
        self.advance(id, TaskState::Completed, &reply_text(&reply), |task| {
            task.reply = Some(reply.clone());
        })
    }

    fn end(&self, id: &str, state: TaskState, note: &str) -> Result<(), A2aError> {
        self.advance(id, state, note, |_| {}).map(drop)
    }
}
