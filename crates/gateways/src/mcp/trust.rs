//! Accepts the current version of a changed server, after a person approved it.

use std::path::Path;

use countersign_client::{AgentClient, CallRequest, Outcome};

use super::pins::Pins;
use super::settings::McpError;

/// Asks a person whether the current version of a server is accepted. Returns how many records
/// were forgotten. An agent can run this command too, so it is asked about like any call.
pub fn trust(state: &Path, agent: &AgentClient, server: &str) -> Result<usize, McpError> {
    let failed = |error: &dyn std::fmt::Display| McpError(format!("{server}: {error}"));
    let arguments = serde_json::json!({ "server": server }).to_string();
    let question = CallRequest::tool("countersign_mcp_trust", &arguments);
    let mut question = question.map_err(|error| failed(&error))?;
    question.risk_level = Some("high".to_owned());
    question.description = Some(
        "Accepts the current tools of this MCP server as known: their calls are assessed as usual \
         again."
            .to_owned(),
    );
    match agent.ask(&question).map_err(|error| failed(&error))? {
        Outcome::Approved(_) => Pins::forget(state, server).map_err(|error| failed(&error)),
        _ => Err(McpError(format!("{server}: not approved, so nothing was changed"))),
    }
}
