//! Lists of the tasks of one peer.

use countersign_store::TaskQuery;
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::dialect::ProtocolDialect;
use crate::error::A2aError;
use crate::list_params::ListParams;
use crate::node::{A2aNode, unavailable};
use crate::render::TaskView;
use crate::state::TaskState;
use crate::task::DelegatedTask;

impl A2aNode {
    /// The tasks of a peer, the one that changed last first, as one page.
    pub fn list(&self, peer: &str, params: &ListParams) -> Result<Value, A2aError> {
        let query = TaskQuery {
            peer,
            context: params.context.as_deref(),
            state: params.state.map(TaskState::word),
            before: params.before.as_ref().map(|(at, id)| (*at, id.as_str())),
            limit: params.size,
            artifacts: params.artifacts,
            since: params.since,
        };
        let page =
            block_in_place(|| self.tasks.list(&query)).map_err(|error| unavailable(&error))?;
        let view = TaskView {
            dialect: ProtocolDialect::V1,
            history: params.history,
            artifacts: params.artifacts,
        };
        let tasks = page.rows.iter().map(DelegatedTask::from_row);
        let tasks: Vec<DelegatedTask> = tasks.collect::<Result<_, _>>()?;
        let next = tasks.last().filter(|_| page.more).map(DelegatedTask::page_token);
        let list: Vec<Value> = tasks.iter().map(|task| view.task(task)).collect();
        Ok(json!({
            "tasks": list, "nextPageToken": next.unwrap_or_default(), "pageSize": params.size,
            "totalSize": page.total,
        }))
    }
}
