//! MCP servers: gateways say which tools a server lists, people label the tools.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::AgentClient;
use crate::call_request::quoted;
use crate::encoding::path_segment;
use crate::error::Error;
use crate::people::PeopleClient;
use crate::time::Time;

/// A gateway waits no longer than this before it forwards the list to its client.
const LEARN_TIMEOUT: Duration = Duration::from_secs(3);

/// What the daemon knows about a server that was listed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServerLearned {
    /// Its id.
    pub id: String,
    /// The labels of the listed definitions, by tool.
    pub labels: BTreeMap<String, String>,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Its id.
    pub id: String,
    /// The name under which the agent calls it.
    pub name: String,
    /// Its command or URL.
    pub address: String,
    /// The digest of the list of its tools.
    pub listing: String,
    /// Its tools that the catalogue does not describe.
    pub tools: Vec<ListedToolRecord>,
    /// How many tools it lists in all.
    pub tool_count: u32,
    /// When it was first listed.
    pub first_seen: Time,
    /// When it was last listed.
    pub last_seen: Time,
    /// When a tool without a label was first called.
    pub called: Option<Time>,
}

/// A tool of an MCP server. Its texts are the server's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedToolRecord {
    /// Its name.
    pub name: String,
    /// What the server says about it.
    pub description: String,
    /// The digest of its definition.
    pub definition: String,
    /// Whether its name or description has hidden or deceptive characters.
    pub deceptive: bool,
    /// The label that its definition suggests.
    pub suggestion: Option<String>,
    /// The label that a person gave to it.
    pub label: Option<String>,
}

/// A tool and its new label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewToolLabel {
    /// The tool.
    pub tool: String,
    /// `reads`, `changes`, `sends`, `runs`, or `none` to remove the label.
    pub label: String,
}

impl AgentClient {
    /// Says which tools an MCP server lists, each as the JSON text of its entry.
    pub fn learn_server(
        &self,
        name: &str,
        address: &str,
        tool_count: usize,
        tools: &[&str],
    ) -> Result<ServerLearned, Error> {
        let body = format!(
            "{{\"name\":{},\"address\":{},\"tool_count\":{tool_count},\"tools\":[{}]}}",
            quoted(name),
            quoted(address),
            tools.join(",")
        );
        self.post("/v1/servers", &body, None, LEARN_TIMEOUT)
    }
}

impl PeopleClient {
    /// The MCP servers, the most recent first.
    pub fn servers(&self) -> Result<Vec<ServerRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            servers: Vec<ServerRecord>,
        }
        self.read::<List>("/v1/servers").map(|list| list.servers)
    }

    /// Labels tools of a server, as `listing` lists them.
    pub fn label_tools(
        &self,
        server: &str,
        listing: &str,
        labels: &[NewToolLabel],
    ) -> Result<ServerRecord, Error> {
        let path = format!("/v1/servers/{}/labels", path_segment(server)?);
        self.change(&path, &serde_json::json!({ "listing": listing, "labels": labels }))
    }
}
