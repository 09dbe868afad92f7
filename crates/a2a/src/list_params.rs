//! Parameters of reading methods: which tasks to list, and how much of their histories.

use countersign_types::time::Timestamp;
use serde_json::{Map, Value};

use crate::error::A2aError;
use crate::state::TaskState;

/// The most tasks on one page.
const MAX_PAGE: u32 = 100;

/// Which tasks to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListParams {
    /// Only this conversation.
    pub context: Option<String>,
    /// Only this state.
    pub state: Option<TaskState>,
    /// The last task of the page before: when it changed, and its id.
    pub before: Option<(i64, String)>,
    /// The size of a page.
    pub size: u32,
    /// Whether results are included.
    pub artifacts: bool,
    /// How many messages of each history are wanted.
    pub history: usize,
    /// Only tasks whose state is of this time or later, in milliseconds since 1970.
    pub since: Option<i64>,
}

/// The wanted length of the history. Some clients write the name as the definition of the protocol
/// has it.
pub fn length_in(params: &Map<String, Value>) -> Option<&Value> {
    params.get("historyLength").or_else(|| params.get("history_length"))
}

/// How many messages of the history a client wants.
pub fn history_length(length: Option<&Value>) -> Result<usize, A2aError> {
    match length {
        None | Some(Value::Null) => Ok(usize::MAX),
        Some(length) => match length.as_u64() {
            Some(length) => Ok(usize::try_from(length).unwrap_or(usize::MAX)),
            None => Err(A2aError::InvalidParams("historyLength must not be negative".to_owned())),
        },
    }
}

/// The parameters of a list.
pub fn list(params: &Map<String, Value>) -> Result<ListParams, A2aError> {
    let word =
        |name: &str| params.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let state = match word("status").filter(|name| *name != "TASK_STATE_UNSPECIFIED") {
        None => None,
        Some(name) => Some(
            TaskState::parse(name)
                .ok_or_else(|| A2aError::InvalidParams("status is not a state".to_owned()))?,
        ),
    };
    let size = match params.get("pageSize").filter(|size| !size.is_null()) {
        None => 50,
        Some(size) => size
            .as_u64()
            .and_then(|size| u32::try_from(size).ok())
            .filter(|size| (1..=MAX_PAGE).contains(size))
            .ok_or_else(|| A2aError::InvalidParams("pageSize must be 1 to 100".to_owned()))?,
    };
    let since = word("statusTimestampAfter").map(|text| {
        let time = Timestamp::parse(text).map(|time| time.0);
        time.ok_or_else(|| A2aError::InvalidParams("statusTimestampAfter is not a time".to_owned()))
    });
    // Without a number, a list has no histories.
    let history = length_in(params).map(|length| history_length(Some(length)));
    Ok(ListParams {
        history: history.transpose()?.unwrap_or_default(),
        since: since.transpose()?,
        context: word("contextId").map(ToOwned::to_owned),
        state,
        before: word("pageToken").map(page_token).transpose()?,
        size,
        artifacts: params.get("includeArtifacts").and_then(Value::as_bool).unwrap_or(false),
    })
}

/// A time and an id, as `DelegatedTask::page_token` writes them.
fn page_token(text: &str) -> Result<(i64, String), A2aError> {
    let parts = text.split_once('-').and_then(|(at, id)| Some((at.parse().ok()?, id.to_owned())));
    parts.ok_or_else(|| A2aError::InvalidParams("pageToken is not valid".to_owned()))
}
