//! The agent card: who this agent is, where it listens, what it takes.

use serde_json::{Value, json};

/// What the card says about an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSettings {
    /// The agent's name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The address that others use, such as `https://host:9443`.
    pub url: String,
}

/// The card, for clients of every version.
pub fn agent_card(settings: &CardSettings) -> Value {
    let CardSettings { name, description, url } = settings;
    let rpc = format!("{url}/a2a/rpc");
    json!({
        "name": name,
        "description": description,
        "version": env!("CARGO_PKG_VERSION"),
        "protocolVersion": "0.3.0",
        "preferredTransport": "JSONRPC",
        "url": rpc,
        "a2aTaskEndpoint": rpc,
        "supportedInterfaces": [
            { "url": rpc, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" },
            { "url": format!("{url}/a2a/http"), "protocolBinding": "HTTP+JSON",
              "protocolVersion": "1.0" },
        ],
        "capabilities": {
            "streaming": true, "pushNotifications": false, "extendedAgentCard": false,
        },
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "securitySchemes": { "mtls": { "mtlsSecurityScheme": {
            "description": "A certificate of the fleet that names the agent.",
        } } },
        "securityRequirements": [{ "schemes": { "mtls": { "list": [] } } }],
        "skills": [{
            "id": "task", "name": "Task",
            "description": "Does a task given as text. A person may have to approve it first.",
            "tags": ["delegation"],
        }],
    })
}
