//! The path of one task to its decision: ask the gate, wait for a person.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use countersign_store::WrittenChange;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::clock::now;
use crate::error::A2aError;
use crate::gate::TaskDecision;
use crate::node::A2aNode;
use crate::state::TaskState;
use crate::task::{DelegatedTask, TaskQuestion};

/// How long one wait at the daemon takes, in seconds.
const WAIT: u64 = 20;
/// How often the daemon is asked about a task for which no wait is free. The pause grows with the
/// number of such tasks, so that the daemon gets some 250 questions in a second at most.
const POLL: Duration = Duration::from_secs(2);
const POLLED: usize = 500;
/// How often a gate that does not answer is tried at first, and how long at least.
pub(crate) const RETRY: Duration = Duration::from_millis(500);
pub(crate) const GATE_TIMEOUT: Duration = Duration::from_mins(1);
/// How long a task waits until there is room for its question.
const BUSY_TIMEOUT: Duration = Duration::from_hours(1);

impl A2aNode {
    /// Brings a task to its end. Errors of the file of tasks leave it where it is: it goes on at
    /// the next start.
    /// `taken` is when it was taken, if that may not be on the disk yet.
    pub(crate) async fn drive(self: Arc<A2aNode>, id: String, taken: WrittenChange) {
        if let Err(error) = self.steps(&id, taken).await {
            tracing::error!(task = id, %error, "a task was left open");
        }
    }

    async fn steps(self: &Arc<A2aNode>, id: &str, taken: WrittenChange) -> Result<(), A2aError> {
        let (mut silent, mut refused) = (None::<Instant>, None::<Instant>);
        let mut is_screened = false;
        loop {
            let task = self.any_task(id)?;
            let waits = matches!(task.state(), TaskState::Working | TaskState::InputRequired);
            if task.state().is_final() || waits {
                return Ok(());
            }
            let end = self.deadline(&task);
            match self.ask(task, &mut is_screened).await {
                TaskDecision::Pending(question) => {
                    silent = None;
                    self.wait_for_person(id, question)?;
                }
                TaskDecision::Approved(approved) => {
                    if self.run(id, *approved, taken).await? {
                        return Ok(());
                    }
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
                    if gives_up(since.elapsed(), now(), end) {
                        tracing::error!(task = id, why, "the gate does not answer");
                        return self.end(id, TaskState::Failed, "The gate does not answer.");
                    }
                    match since.elapsed() {
                        short if short < GATE_TIMEOUT => sleep(RETRY).await,
                        _ => self.pause(POLL).await,
                    }
                }
                refusal => {
                    let (state, note) = last_state(id, refusal);
                    return self.end(id, state, &note);
                }
            }
        }
    }

    /// Until when a person can answer about a task in its present state, in milliseconds since
    /// 1970.
    fn deadline(&self, task: &DelegatedTask) -> i64 {
        let since = task.steps.last().map_or(task.created, |step| step.at);
        since.saturating_add(i64::from(self.gate.deadline).saturating_mul(1000))
    }

    /// Asks the gate about a task; while a person decides, this takes a while.
    async fn ask(self: &Arc<A2aNode>, task: DelegatedTask, is_screened: &mut bool) -> TaskDecision {
        let gate = self.gate.clone();
        let asked = match task.question.clone() {
            None => {
                let max_tier = self.limits(&task.peer).max_tier;
                let _turn = self.askers_of_peer.acquire(&task.peer).await;
                let _asker = self.askers.acquire().await;
                let was_screened = *is_screened;
                let asked = spawn_blocking(move || {
                    let screened = if was_screened { Ok(()) } else { gate.screen(&task) };
                    let is_screened = screened.is_ok();
                    let submit = || gate.submit(&task, max_tier);
                    (screened.map_or_else(|failed| failed, |()| submit()), is_screened)
                });
                asked.await.map(|(decision, screened)| {
                    *is_screened = screened;
                    decision
                })
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

    pub(crate) fn end(&self, id: &str, state: TaskState, note: &str) -> Result<(), A2aError> {
        self.advance(id, state, note, |_| {}).map(drop)
    }
}

/// How a task ends that the gate does not let run.
fn last_state(id: &str, decision: TaskDecision) -> (TaskState, String) {
    match decision {
        TaskDecision::Denied(reason) => {
            let note = match reason.as_str() {
                "" => "The task was denied.".to_owned(),
                reason => format!("The task was denied: {reason}"),
            };
            (TaskState::Rejected, note)
        }
        TaskDecision::Expired => (TaskState::Failed, "No person answered in time.".to_owned()),
        TaskDecision::Withdrawn => (TaskState::Failed, "The request was withdrawn.".to_owned()),
        other => {
            tracing::error!(task = id, ?other, "the gate's answer cannot be used");
            (TaskState::Failed, "The gate could not be asked.".to_owned())
        }
    }
}

/// Whether a task no longer waits for a gate that has been silent so long. It waits at least for a
/// short outage, and as long as a person could still answer; it never runs without the gate.
fn gives_up(silent: Duration, now: i64, deadline: i64) -> bool {
    silent > GATE_TIMEOUT && now > deadline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_waits_for_the_gate_until_its_own_deadline() {
        let minutes = Duration::from_mins;
        assert!(!gives_up(minutes(4), 4, 5), "a person can still answer");
        assert!(!gives_up(Duration::from_secs(59), 9, 5), "the gate was just started again");
        assert!(gives_up(minutes(2), 6, 5));
    }
}
