//! Answers of a task's sender to a question of the executor. Each passes the gate like a new task.

use std::sync::Arc;
use std::time::Duration;

use countersign_store::{TaskAnswer, TaskRow, WrittenChange};
use tokio::task::block_in_place;
use tokio::time::sleep;

use crate::clock::now;
use crate::error::A2aError;
use crate::methods::NewTask;
use crate::node::{A2aNode, unavailable};
use crate::policy::PeerLimits;
use crate::state::TaskState;
use crate::task::{DelegatedTask, SenderAnswer};

/// The most answers to one task.
const MAX_FURTHER: usize = 16;

/// How often tasks are looked for whose sender does not answer, at most and at least.
const SWEEP: (Duration, Duration) = (Duration::from_millis(200), Duration::from_mins(1));

impl A2aNode {
    /// Ends tasks whose sender did not answer a question in time, for ever: they count as open.
    pub(crate) async fn expire_questions(self: Arc<A2aNode>) {
        let within = self.settings.answer_within;
        loop {
            sleep((within / 4).clamp(SWEEP.0, SWEEP.1)).await;
            let within = i64::try_from(within.as_millis()).unwrap_or(i64::MAX);
            if let Err(error) = self.expire_before(now().saturating_sub(within)) {
                tracing::error!(%error, "tasks without an answer were not ended");
            }
        }
    }

    fn expire_before(&self, latest: i64) -> Result<(), A2aError> {
        let open = block_in_place(|| self.tasks.open_tasks());
        for row in open.map_err(|error| unavailable(&error))? {
            if row.state != TaskState::InputRequired.word() {
                continue;
            }
            let mut task = DelegatedTask::from_row(&row)?;
            let is_late = task.steps.last().is_some_and(|step| step.at <= latest);
            let note = "Its sender did not answer in time.".to_owned();
            if is_late && task.advance(TaskState::Failed, note, now()) {
                let new = task.to_row(row.version + 1)?;
                // An answer that came meanwhile counts.
                let replaced = block_in_place(|| self.tasks.replace(&new, row.version));
                if replaced.map_err(|error| unavailable(&error))? {
                    self.has_changed(&new);
                }
            }
        }
        Ok(())
    }

    /// Takes an answer to a task of this peer that asked its sender a question.
    pub(crate) fn answer_question(
        self: &Arc<A2aNode>,
        peer: &str,
        id: &str,
        new: &NewTask,
    ) -> Result<DelegatedTask, A2aError> {
        let task = self.task(peer, id)?;
        if new.context.as_ref().is_some_and(|context| *context != task.context) {
            return Err(A2aError::InvalidParams("contextId is not the one of this task".into()));
        }
        let message = new.message.clone().unwrap_or_default();
        if task.message.as_ref() == Some(&message) {
            return Err(A2aError::reused(&message));
        }
        if let Some(known) = task.further.iter().find(|known| known.id == message) {
            // The same message again.
            return if known.text == new.text { Ok(task) } else { Err(A2aError::reused(&message)) };
        }
        let limits = self.limits(peer);
        if !limits.permits(&new.text) {
            return Err(A2aError::NotAllowed(format!("{peer} may not send this task")));
        }
        if task.further.len() >= MAX_FURTHER {
            return Err(A2aError::TooMany(format!("a task takes at most {MAX_FURTHER} answers")));
        }
        let further = SenderAnswer { id: message, text: new.text.clone(), approved: None };
        let task = self.store_answer(&task, &further, &limits)?;
        tokio::spawn(Arc::clone(self).drive(task.id.clone(), WrittenChange::default()));
        Ok(task)
    }

    /// Stores an answer, if the task still asks and no limit is reached.
    fn store_answer(
        &self,
        task: &DelegatedTask,
        further: &SenderAnswer,
        limits: &PeerLimits,
    ) -> Result<DelegatedTask, A2aError> {
        let answer = |row: &TaskRow, version| {
            let at = now();
            self.tasks.answer(row, version, &limits.counted(at), at)
        };
        loop {
            let (mut next, version) = self.stored_task(&task.id)?;
            if !next.advance(TaskState::Submitted, "Answer received".to_owned(), now()) {
                return Err(A2aError::Unsupported(
                    "the task asked no question; send a new one with the same contextId".to_owned(),
                ));
            }
            next.further.push(further.clone());
            // The answer is another question to the gate.
            next.question = None;
            // This state is on the disk before its sender knows of it.
            next.boot = None;
            let row = next.to_row(version + 1)?;
            let stored = block_in_place(|| answer(&row, version));
            match stored.map_err(|error| unavailable(&error))? {
                TaskAnswer::Stored => {
                    self.has_changed(&row);
                    return Ok(next);
                }
                TaskAnswer::Changed => {}
                TaskAnswer::Refused(limit) => return Err(limits.refusal(&task.peer, limit)),
            }
        }
    }
}
