//! Tells the daemon which tools a server lists, and keeps the labels that people gave to them.
//!
//! A label can only make the proxy ask: whether a labelled call may pass is the daemon's decision.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use countersign_client::{AgentClient, McpToolClaim};
use countersign_json::canonical::Digest;
use countersign_risk::tool_label::ToolLabel;
use countersign_risk::tools::{is_described, mcp_tool_name};

/// How many tools the daemon is told about, and how many bytes.
const MAX_TOOLS: usize = 256;
const MAX_BYTES: usize = 200 << 10;
/// How old labels may be before they are read again.
const REFRESH_TIME: Duration = Duration::from_secs(5);

/// The server of one proxy as the daemon knows it.
#[derive(Debug)]
pub struct LabelledServer {
    agent: AgentClient,
    name: String,
    address: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The daemon's id of the server.
    id: Option<String>,
    labels: HashMap<String, ToolLabel>,
    /// When the daemon was told last.
    told: Option<Instant>,
}

/// A tool as it is told to the daemon.
#[derive(Debug, Clone)]
pub struct ToldTool {
    /// The digest of its definition.
    pub definition: Digest,
    /// The JSON text of its entry.
    pub entry: String,
}

impl LabelledServer {
    /// The daemon is not told yet.
    pub fn new(agent: AgentClient, name: &str, address: String) -> LabelledServer {
        LabelledServer { agent, name: name.to_owned(), address, state: Mutex::default() }
    }

    /// Tells the daemon about these tools and reads their labels. Blocks. If the daemon does not
    /// answer, calls are asked about as if the server were not known.
    pub fn tell(&self, tools: &[(String, ToldTool)]) {
        self.state().told = Some(Instant::now());
        let is_unknown = |name: &str| !is_described(&mcp_tool_name(&self.name, name));
        let (mut list, mut bytes) = (Vec::new(), 0);
        for (_, tool) in tools.iter().filter(|(name, _)| is_unknown(name)) {
            bytes += tool.entry.len();
            if list.len() == MAX_TOOLS || bytes > MAX_BYTES {
                break;
            }
            list.push(tool.entry.as_str());
        }
        let told = self.agent.learn_server(&self.name, &self.address, tools.len(), &list);
        let mut state = self.state();
        match told {
            Ok(learned) => {
                state.id = Some(learned.id);
                let labels = learned.labels.into_iter();
                let read = |(name, word): (String, String)| Some((name, ToolLabel::parse(&word)?));
                state.labels = labels.filter_map(read).collect();
            }
            // Labels that make calls ask stay.
            Err(_) => state.id = None,
        }
    }

    /// Whether the labels must be read again; true once, until they are.
    pub fn must_refresh(&self) -> bool {
        let mut state = self.state();
        let is_old = state.told.is_some_and(|told| told.elapsed() > REFRESH_TIME);
        if is_old {
            state.told = Some(Instant::now());
        }
        is_old
    }

    /// What a call says about its tool, if the daemon knows the server.
    pub fn claim(&self, tool: &str, definition: &Digest) -> Option<McpToolClaim> {
        let server = self.state().id.clone()?;
        Some(McpToolClaim { server, tool: tool.to_owned(), definition: definition.to_string() })
    }

    /// The label of a tool, as far as it is known here.
    pub fn label(&self, tool: &str) -> Option<ToolLabel> {
        self.state().labels.get(tool).copied()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
