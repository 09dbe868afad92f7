//! Answers of a task's sender to a question of the executor. Each passes the gate like a new task.

use std::sync::Arc;

use countersign_store::{TaskAnswer, TaskRow};
use tokio::task::block_in_place;

use crate::clock::now;
use crate::error::A2aError;
use crate::methods::NewTask;
use crate::node::{A2aNode, unavailable};
use crate::policy::PeerLimits;
use crate::state::TaskState;
use crate::task::{DelegatedTask, SenderAnswer};

/// The most answers to one task.
const MAX_FURTHER: usize = 16;

impl A2aNode {
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
        tokio::spawn(Arc::clone(self).drive(task.id.clone()));
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
