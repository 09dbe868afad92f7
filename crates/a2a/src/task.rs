//! A task that another agent delegated to this node.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use countersign_store::TaskRow;

use crate::error::A2aError;
use crate::state::TaskState;

/// A delegated task, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelegatedTask {
    /// Its id.
    pub id: String,
    /// The conversation.
    pub context: String,
    /// The agent that sent it, by its certificate.
    pub peer: String,
    /// The label that the sender gave; it proves nothing.
    pub requester: Option<String>,
    /// Who asked whom; the sender last.
    pub chain: Vec<String>,
    /// What to do.
    pub text: String,
    /// The sender's id of its message.
    pub message: Option<String>,
    /// The sender's metadata.
    pub metadata: Value,
    /// When it arrived, in milliseconds since 1970.
    pub created: i64,
    /// What happened to it; the last step is its status.
    pub steps: Vec<TaskStep>,
    /// The request at the gate, while or after a person decides.
    pub question: Option<TaskQuestion>,
    /// The results.
    #[serde(default)]
    pub artifacts: Vec<Value>,
    /// What the sender answered to questions of the executor, the first answer first.
    #[serde(default)]
    pub further: Vec<SenderAnswer>,
    /// The message that the executor answered with, in place of a result.
    #[serde(default)]
    pub reply: Option<Value>,
    /// The request at the gate under which it ran last.
    #[serde(default)]
    pub request: Option<String>,
    /// The first text and its metadata as they were approved; a person may have edited them.
    #[serde(default)]
    pub approved: Option<ApprovedContent>,
    /// The start of the machine in which its sender waited for it: then it may run before its
    /// states are on the disk.
    #[serde(default)]
    pub boot: Option<String>,
}

/// What a person or the rules approved of a task's first message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovedContent {
    /// What to do.
    pub text: String,
    /// The metadata.
    pub metadata: Value,
}

/// A further message of a task's sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderAnswer {
    /// The sender's id of it.
    pub id: String,
    /// What it says.
    pub text: String,
    /// What was approved of it; a person may have edited it.
    #[serde(default)]
    pub approved: Option<String>,
}

/// One state that a task reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStep {
    /// The word of the state.
    pub state: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// What happened, for people and agents.
    pub note: String,
}

/// The request at the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskQuestion {
    /// Its id.
    pub request: String,
    /// Its two words.
    pub words: String,
    /// Where a person answers it.
    pub link: Option<String>,
}

impl DelegatedTask {
    /// Its state.
    pub fn state(&self) -> TaskState {
        let last = self.steps.last();
        last.and_then(|step| TaskState::parse(&step.state)).unwrap_or(TaskState::Failed)
    }

    /// Whether another task came of the same message: with the same content in the same
    /// conversation, if its sender named one.
    pub fn is_same_message(&self, other: &DelegatedTask, has_context: bool) -> bool {
        self.message == other.message
            && self.text == other.text
            && self.metadata == other.metadata
            && self.chain == other.chain
            && self.requester == other.requester
            && (!has_context || self.context == other.context)
    }

    /// Whether it may have run although its state says that it was not started: the machine failed
    /// before the later states were on the disk.
    pub fn may_have_run(&self, current: Option<&str>) -> bool {
        let is_old = self.boot.as_deref().is_some_and(|boot| Some(boot) != current);
        self.state() == TaskState::Working || self.state() == TaskState::Submitted && is_old
    }

    /// The text that is asked about and runs next.
    pub fn current_text(&self) -> &str {
        self.further.last().map_or(&self.text, |last| &last.text)
    }

    /// The sender's id of the current message.
    pub fn current_message(&self) -> Option<&str> {
        let last = self.further.last().map(|one| one.id.as_str());
        last.or(self.message.as_deref())
    }

    /// The metadata that is asked about and that the executor gets.
    pub fn current_metadata(&self) -> &Value {
        self.approved.as_ref().map_or(&self.metadata, |approved| &approved.metadata)
    }

    /// The texts before the current one, as they were approved.
    pub fn earlier_texts(&self) -> Vec<&str> {
        let first = self.approved.as_ref().map_or(&self.text, |approved| &approved.text);
        let further = self.further.iter().map(|one| one.approved.as_ref().unwrap_or(&one.text));
        let all = std::iter::once(first).chain(further).map(String::as_str);
        all.take(self.further.len()).collect()
    }

    /// Keeps what was approved of the current message: later runs and questions repeat it.
    pub fn approve(&mut self, content: &ApprovedContent) {
        match self.further.last_mut() {
            Some(last) => last.approved = Some(content.text.clone()),
            None => self.approved = Some(content.clone()),
        }
    }

    /// Goes on to another state; returns whether that is possible.
    pub fn advance(&mut self, state: TaskState, note: String, at: i64) -> bool {
        let possible = self.steps.is_empty() || self.state().may_become(state);
        if possible {
            self.steps.push(TaskStep { state: state.word().to_owned(), at, note });
        }
        possible
    }

    /// The task as it was after so many steps.
    pub fn after_steps(&self, count: usize) -> Option<DelegatedTask> {
        if count == 0 || count > self.steps.len() {
            return None;
        }
        let mut past = self.clone();
        past.steps.truncate(count);
        if !past.state().is_final() {
            past.artifacts.clear();
        }
        Some(past)
    }

    /// Where the page after this task begins.
    pub fn page_token(&self) -> String {
        let at = self.steps.last().map_or(self.created, |step| step.at);
        format!("{at}-{}", self.id)
    }

    /// The row that stores it.
    pub fn to_row(&self, version: i64) -> Result<TaskRow, A2aError> {
        let document = serde_json::to_string(self)
            .map_err(|error| A2aError::Unavailable(error.to_string()))?;
        Ok(TaskRow {
            id: self.id.clone(),
            peer: self.peer.clone(),
            context: self.context.clone(),
            message: self.message.clone(),
            state: self.state().word().to_owned(),
            ended: self.state().is_final(),
            created: self.created,
            version,
            document,
        })
    }

    /// The task in a row.
    pub fn from_row(row: &TaskRow) -> Result<DelegatedTask, A2aError> {
        serde_json::from_str(&row.document)
            .map_err(|error| A2aError::Unavailable(format!("task {}: {error}", row.id)))
    }
}

/// A task for tests.
#[cfg(test)]
pub fn test_task() -> DelegatedTask {
    DelegatedTask {
        id: "t".to_owned(),
        context: "c".to_owned(),
        peer: "alice".to_owned(),
        requester: None,
        chain: vec!["alice".to_owned()],
        text: "x".to_owned(),
        message: None,
        metadata: serde_json::json!({}),
        created: 0,
        steps: Vec::new(),
        question: None,
        artifacts: Vec::new(),
        further: Vec::new(),
        reply: None,
        request: None,
        approved: None,
        boot: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_may_have_run_is_known_after_a_kill_and_after_a_power_failure() {
        let mut task = test_task();
        task.advance(TaskState::Submitted, String::new(), 1);
        assert!(
            !task.may_have_run(Some("b")),
            "every state was on the disk before its sender knew"
        );
        task.boot = Some("a".to_owned());
        assert!(!task.may_have_run(Some("a")), "the process was killed: its state is the last one");
        assert!(task.may_have_run(Some("b")) && task.may_have_run(None));
        task.advance(TaskState::Working, String::new(), 2);
        assert!(task.may_have_run(Some("a")));
        // A question was on the disk before a person saw it, and its permit is used once.
        let mut asked = test_task();
        asked.boot = Some("a".to_owned());
        asked.advance(TaskState::AuthRequired, String::new(), 1);
        assert!(!asked.may_have_run(Some("b")));
    }
}
