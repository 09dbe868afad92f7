//! The labels that people gave to tools of MCP servers, for the assessment of calls.
//!
//! A label is for one definition of one tool of one server. A gateway says which definition a call
//! uses; a tool that changed, or a server with the same name and another command, has no label.

use countersign_json::canonical::Digest;
use countersign_risk::tool_label::ToolLabel;
use countersign_store::{
    LabelledTool, ServerLabels, Store as _, StoreError, StoredServer, WriteContext,
};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;

use super::label_memory::{ToolClaim, ToolLabels};
use super::state::Gate;

/// How many labels one server has; the oldest are removed first.
const MAX_LABELS: usize = 1_024;

/// Why tools were not labelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// The server is not known.
    #[error("server not found")]
    NoServer,
    /// The server lists other tools than the person saw.
    #[error("the tools of this server have changed; read the list again")]
    Changed,
    /// The server lists no such tool.
    #[error("the server lists no such tool: `{0}`")]
    NoTool(String),
    /// The store failed.
    #[error("{0}")]
    Store(StoreError),
}

impl From<StoreError> for LabelError {
    fn from(error: StoreError) -> LabelError {
        LabelError::Store(error)
    }
}

impl Gate {
    /// The label of the tool that a call uses. A label that lets calls pass is a permission: it
    /// rests while grants rest and while the store cannot be relied on.
    pub fn label_of(&self, claim: &ToolClaim<'_>, called: &str) -> Option<ToolLabel> {
        if !self.tool_labels.is_named(claim, called) {
            return None;
        }
        let label = self.tool_labels.label(claim.server, claim.tool, &claim.definition)?;
        let rests = self.freeze.suspends_grants() || self.integrity.check().is_err();
        (label != ToolLabel::Reads || !rests).then_some(label)
    }

    /// The labels in memory.
    pub fn tool_labels(&self) -> &ToolLabels {
        &self.tool_labels
    }

    /// Stores what a server lists, unless the store has it.
    pub async fn learn_server(&self, listed: StoredServer) -> Result<(), StoreError> {
        let _changing = self.tool_labels.changing.lock().await;
        let known = self.store.servers().await?.into_iter().find(|one| one.id == listed.id);
        let is_same = known
            .is_some_and(|one| one.tools == listed.tools && one.tool_count == listed.tool_count);
        if !is_same {
            self.store.save_server(listed).await?;
            self.tool_labels.read_again(&self.store).await?;
        }
        Ok(())
    }

    /// Notes the first call of a tool without a label: from now on the inbox shows the server.
    pub async fn note_unlabelled_call(&self, server: Id) -> Result<(), StoreError> {
        if self.tool_labels.is_noted(server) {
            return Ok(());
        }
        let _changing = self.tool_labels.changing.lock().await;
        let found = self.store.servers().await?.into_iter().find(|one| one.id == server);
        if let Some(found) = found {
            let called = Some(self.clock.now().at);
            self.store.save_server(StoredServer { called, ..found }).await?;
        }
        self.tool_labels.read_again(&self.store).await
    }

    /// Labels tools of a server, as a person saw them: `listing` is the digest of the list.
    /// Without a label, a tool loses the one that it has.
    pub async fn label_tools(
        &self,
        server: Id,
        listing: Digest,
        changes: Vec<(String, Option<ToolLabel>)>,
        (person, note): (String, WriteContext),
    ) -> Result<StoredServer, LabelError> {
        let _changing = self.tool_labels.changing.lock().await;
        let servers = self.store.servers().await?;
        let found = servers.into_iter().find(|one| one.id == server);
        let found = found.ok_or(LabelError::NoServer)?;
        if listing_digest(&found) != listing {
            return Err(LabelError::Changed);
        }
        let before = self.store.labels().await?.into_iter().find(|one| one.server == server);
        let mut labels = before.map(|before| before.labels).unwrap_or_default();
        for (name, label) in changes {
            let listed = found.tools.iter().find(|tool| tool.name == name);
            let Some(listed) = listed else { return Err(LabelError::NoTool(name)) };
            let definition = listed.definition;
            labels.retain(|one| one.tool != name || one.definition != definition);
            labels.extend(label.map(|label| LabelledTool { tool: name, definition, label }));
        }
        let excess = labels.len().saturating_sub(MAX_LABELS);
        labels.drain(..excess);
        let at = self.clock.now().at;
        self.store.save_labels(ServerLabels { server, labels, person, at }, note).await?;
        self.tool_labels.read_again(&self.store).await?;
        Ok(found)
    }
}

/// The digest of the list of a server's tools, as a person sees it.
pub fn listing_digest(server: &StoredServer) -> Digest {
    let mut text = format!("countersign/listing/1\0{}", server.id);
    for tool in &server.tools {
        text.push('\0');
        tool.definition.push_hex(&mut text);
        text.push_str(&tool.name);
    }
    Digest::of(text.as_bytes())
}
