//! The path of one task after its decision: use the permit, run, report.

use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_client::{Error, RunReport};
use countersign_store::WrittenChange;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::artifact::{question_of, reply_of, reply_text};
use crate::drive::{GATE_TIMEOUT, RETRY};
use crate::error::A2aError;
use crate::gate::{ApprovedTask, run_report};
use crate::node::A2aNode;
use crate::state::TaskState;
use crate::task::DelegatedTask;

/// How long the report of a run is tried.
const REPORT_TIMEOUT: Duration = Duration::from_mins(10);

impl A2aNode {
    /// Runs a task that the gate approved; returns whether it is no longer to be asked about. It is
    /// stored as working before the permit is used, so that it never runs twice.
    pub(crate) async fn run(
        self: &Arc<A2aNode>,
        id: &str,
        approved: ApprovedTask,
        taken: WrittenChange,
    ) -> Result<bool, A2aError> {
        let peer = self.any_task(id)?.peer;
        let _turn = self.runners_of_peer.acquire(&peer).await;
        let Ok(_runner) = self.runners.acquire().await else { return Ok(true) };
        if approved.is_old_pass() {
            return Ok(false);
        }
        let mut watch = self.watch(id);
        let working = self.write_advance(id, TaskState::Working, "Task is running", |task| {
            task.approve(&approved.content);
            task.request = approved.request().map(ToOwned::to_owned);
        })?;
        let Some((task, working)) = working else { return Ok(true) };
        let approved = Arc::new(approved);
        if let Err(error) = self.redeem(id, &approved, &mut watch).await {
            tracing::error!(task = id, %error, "the approval could not be used");
            self.end(id, TaskState::Failed, "The approval could not be used.")?;
            return Ok(true);
        }
        // After a power failure a used permit, or the start of the machine at which the task was
        // taken, tells that it may have run. Without both its state has to be on the disk.
        let is_known = !approved.is_pass() || task.boot.is_some();
        self.sync_to(if is_known { taken } else { working }).await?;
        self.execute(&task, approved, &mut watch).await?;
        Ok(true)
    }

    async fn execute(
        self: &Arc<A2aNode>,
        task: &DelegatedTask,
        approved: Arc<ApprovedTask>,
        watch: &mut watch::Receiver<i64>,
    ) -> Result<(), A2aError> {
        let id = task.id.as_str();
        let start = Instant::now();
        let result = tokio::select! {
            // First, so that a task that was canceled before does not start.
            biased;
            () = self.canceled(id, watch) => Err("canceled by its sender".to_owned()),
            result = self.executor.run(task, &approved.content.text) => result,
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

    /// Uses up an approval. A daemon that does not answer is tried as long as a person would have
    /// had for an answer: the permit counts once, so the task still runs at most once.
    async fn redeem(
        &self,
        id: &str,
        approved: &Arc<ApprovedTask>,
        watch: &mut watch::Receiver<i64>,
    ) -> Result<(), Error> {
        if approved.is_pass() {
            return Ok(());
        }
        let time = Duration::from_secs(u64::from(self.gate.deadline)).max(GATE_TIMEOUT);
        let (start, mut is_lost) = (Instant::now(), false);
        loop {
            let (gate, used) = (self.gate.clone(), Arc::clone(approved));
            let redeemed = spawn_blocking(move || match gate.redeem(&used) {
                // The daemon ended before it had answered this task's own use of the permit.
                Err(Error::Denied(_)) if is_lost && gate.is_redeemed(&used) => Ok(()),
                redeemed => redeemed,
            })
            .await;
            match redeemed.unwrap_or_else(|error| Err(Error::Unexpected(error.to_string()))) {
                Err(error) if error.is_transient() && start.elapsed() < time => {
                    is_lost |= matches!(error, Error::Unreachable { sent: true, .. });
                    tokio::select! {
                        () = sleep(RETRY) => {}
                        () = self.canceled(id, watch) => return Err(error),
                    }
                }
                redeemed => return redeemed,
            }
        }
    }

    /// Ends when the task has been canceled.
    async fn canceled(&self, id: &str, watch: &mut watch::Receiver<i64>) {
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

    /// Stores a result. Its sender need not wait for the disk: without it the task counts as
    /// one that may have run, and does not run again.
    fn complete(
        self: &Arc<A2aNode>,
        id: &str,
        artifact: &Value,
    ) -> Result<Option<DelegatedTask>, A2aError> {
        let reply = reply_of(artifact);
        let note = reply.as_ref().map_or_else(|| "Task completed".to_owned(), reply_text);
        let completed =
            self.write_advance(id, TaskState::Completed, &note, |task| match reply.clone() {
                Some(reply) => task.reply = Some(reply),
                None => task.artifacts = vec![artifact.clone()],
            })?;
        self.sync_later();
        Ok(completed.map(|(task, _)| task))
    }
}
