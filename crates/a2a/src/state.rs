//! The states of a task, and their names in each version of the protocol.

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// It is stored; the gate has not answered yet.
    Submitted,
    /// A person must approve it first.
    AuthRequired,
    /// It runs.
    Working,
    /// It asked its sender a question.
    InputRequired,
    /// It ended with a result.
    Completed,
    /// It ended without a result.
    Failed,
    /// Its sender canceled it.
    Canceled,
    /// A person or the rules refused it.
    Rejected,
}

impl TaskState {
    const ALL: [TaskState; 8] = [
        TaskState::Submitted,
        TaskState::AuthRequired,
        TaskState::Working,
        TaskState::InputRequired,
        TaskState::Completed,
        TaskState::Failed,
        TaskState::Canceled,
        TaskState::Rejected,
    ];

    /// Its word in version 0.3 and in files.
    pub const fn word(self) -> &'static str {
        match self {
            TaskState::Submitted => "submitted",
            TaskState::AuthRequired => "auth-required",
            TaskState::Working => "working",
            TaskState::InputRequired => "input-required",
            TaskState::Completed => "completed",
            TaskState::Failed => "failed",
            TaskState::Canceled => "canceled",
            TaskState::Rejected => "rejected",
        }
    }

    /// Its name in version 1.0.
    pub const fn name(self) -> &'static str {
        match self {
            TaskState::Submitted => "TASK_STATE_SUBMITTED",
            TaskState::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
            TaskState::Working => "TASK_STATE_WORKING",
            TaskState::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            TaskState::Completed => "TASK_STATE_COMPLETED",
            TaskState::Failed => "TASK_STATE_FAILED",
            TaskState::Canceled => "TASK_STATE_CANCELED",
            TaskState::Rejected => "TASK_STATE_REJECTED",
        }
    }

    /// Parses a word or a name.
    pub fn parse(text: &str) -> Option<TaskState> {
        TaskState::ALL.into_iter().find(|state| state.word() == text || state.name() == text)
    }

    /// Whether nothing changes any more.
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            TaskState::Completed | TaskState::Failed | TaskState::Canceled | TaskState::Rejected
        )
    }

    /// Whether the task waits for a person or for its sender before it can go on.
    pub const fn is_interrupted(self) -> bool {
        matches!(self, TaskState::AuthRequired | TaskState::InputRequired)
    }

    /// Whether a task may go from this state to another one.
    pub const fn may_become(self, next: TaskState) -> bool {
        match self {
            TaskState::Submitted => !matches!(
                next,
                TaskState::Submitted | TaskState::InputRequired | TaskState::Completed
            ),
            TaskState::AuthRequired => matches!(
                next,
                TaskState::Working | TaskState::Failed | TaskState::Canceled | TaskState::Rejected
            ),
            TaskState::Working => matches!(
                next,
                TaskState::InputRequired
                    | TaskState::Completed
                    | TaskState::Failed
                    | TaskState::Canceled
            ),
            TaskState::InputRequired => {
                matches!(next, TaskState::Submitted | TaskState::Failed | TaskState::Canceled)
            }
            TaskState::Completed
            | TaskState::Failed
            | TaskState::Canceled
            | TaskState::Rejected => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_parsed_by_both_names_and_a_final_one_never_changes() {
        for state in TaskState::ALL {
            assert_eq!(TaskState::parse(state.word()), Some(state));
            assert_eq!(TaskState::parse(state.name()), Some(state));
            for next in TaskState::ALL {
                assert!(!(state.is_final() && state.may_become(next)), "{state:?} {next:?}");
            }
        }
        // Nothing runs without the gate, and nothing completes without running.
        assert!(!TaskState::AuthRequired.may_become(TaskState::Completed));
        assert!(!TaskState::Submitted.may_become(TaskState::Completed));
        assert!(!TaskState::Working.may_become(TaskState::AuthRequired));
        // An answer of the sender passes the gate again.
        assert!(!TaskState::InputRequired.may_become(TaskState::Working));
    }
}
