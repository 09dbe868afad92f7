//! The labels of MCP tools in memory.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use countersign_json::canonical::Digest;
use countersign_risk::tool_label::ToolLabel;
use countersign_risk::tools;
use countersign_store::{Backend, LabelledTool, Store as _, StoreError};
use countersign_types::id::Id;
use tokio::sync::Mutex;

/// Which definition of which tool a call uses, as its gateway says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolClaim<'a> {
    /// The server.
    pub server: Id,
    /// The tool's name at the server.
    pub tool: &'a str,
    /// The digest of the tool's definition.
    pub definition: Digest,
}

/// The labels in memory.
#[derive(Debug, Default)]
pub struct ToolLabels {
    known: RwLock<Known>,
    /// Held while labels change or are read again.
    pub(super) changing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    /// The name of each server.
    names: HashMap<Id, String>,
    labels: HashMap<Id, Vec<LabelledTool>>,
    /// Servers of which a tool without a label was called.
    called: Vec<Id>,
}

impl ToolLabels {
    /// Reads servers and labels.
    pub async fn read(&self, store: &Backend) -> Result<(), StoreError> {
        let _changing = self.changing.lock().await;
        self.read_again(store).await
    }

    /// Reads them again, while `changing` is held.
    pub(super) async fn read_again(&self, store: &Backend) -> Result<(), StoreError> {
        let (servers, labels) = (store.servers().await?, store.labels().await?);
        let called = servers.iter().filter(|one| one.called.is_some()).map(|one| one.id).collect();
        let names = servers.into_iter().map(|server| (server.id, server.name)).collect();
        let labels = labels.into_iter().map(|one| (one.server, one.labels)).collect();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) =
            Known { names, labels, called };
        Ok(())
    }

    /// The label of one definition of a tool.
    pub fn label(&self, server: Id, tool: &str, definition: &Digest) -> Option<ToolLabel> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut labels = known.labels.get(&server)?.iter();
        let found = labels.find(|one| one.tool == tool && one.definition == *definition);
        found.map(|one| one.label)
    }

    /// Whether the server is known under a name that gives the tool this name in calls.
    pub(super) fn is_named(&self, claim: &ToolClaim<'_>, called: &str) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let name = known.names.get(&claim.server);
        name.is_some_and(|server| tools::mcp_tool_name(server, claim.tool) == called)
    }

    /// Whether the inbox shows the server already, or nobody knows it.
    pub(super) fn is_noted(&self, server: Id) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.called.contains(&server) || !known.names.contains_key(&server)
    }
}
