//! Answers of a task's sender to a question of the executor. Each passes the gate like a new task.

use std::sync::Arc;

use crate::error::A2aError;
use crate::methods::NewTask;
use crate::node::A2aNode;
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
        if task.further.iter().any(|known| known.id == message) {
            // The same message again.
            return Ok(task);
        }
        if !self.limits(peer).permits(&new.text) {
            return Err(A2aError::NotAllowed(format!("{peer} may not send this task")));
        }
        if task.further.len() >= MAX_FURTHER {
            return Err(A2aError::TooMany(format!("a task takes at most {MAX_FURTHER} answers")));
        }
        let further = SenderAnswer { id: message, text: new.text.clone(), approved: None };
        let advanced = self.advance(id, TaskState::Submitted, "Answer received", |task| {
            task.further.push(further.clone());
            // The answer is another question to the gate.
            task.question = None;
        })?;
        let Some(task) = advanced else {
            return Err(A2aError::Unsupported(
                "the task asked no question; send a new one with the same contextId".to_owned(),
            ));
        };
        tokio::spawn(Arc::clone(self).drive(task.id.clone()));
        Ok(task)
    }
}
