//! The agent card: who this agent is, where it listens, what it takes.

use std::sync::{Arc, PoisonError, RwLock};

use countersign_json::canonical::Digest;
use serde_json::{Value, json};

use crate::card_signature::sign_card;
use crate::fleet_files::{FleetFiles, FleetFilesError};
use crate::object::set;

/// What the card says about an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSettings {
    /// The agent's name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The address that others use, such as `https://host:9443`.
    pub url: String,
    /// Whether members of older versions are left out.
    pub is_strict: bool,
}

/// The card that a node serves, signed with the key of its certificate.
#[derive(Debug)]
pub struct ServedCard {
    card: Value,
    current: RwLock<Arc<ServedCardText>>,
}

/// The text of a card, and what caches need.
#[derive(Debug)]
pub struct ServedCardText {
    /// The card as JSON.
    pub text: String,
    /// Changes with the text.
    pub tag: String,
}

impl ServedCardText {
    fn new(card: &Value) -> Arc<ServedCardText> {
        let text = card.to_string();
        let tag = format!("\"{}\"", Digest::of(text.as_bytes()));
        Arc::new(ServedCardText { text, tag })
    }
}

impl ServedCard {
    /// The card, not signed yet.
    pub fn new(settings: &CardSettings) -> ServedCard {
        let card = agent_card(settings);
        let current = RwLock::new(ServedCardText::new(&card));
        ServedCard { card, current }
    }

    /// Signs the card with the own key, and names the certificate of now.
    pub fn sign(&self, files: &FleetFiles) -> Result<(), FleetFilesError> {
        let signed = sign_card(&self.card, &files.own_key()?, &files.own_certificate()?)?;
        let text = ServedCardText::new(&signed);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = text;
        Ok(())
    }

    /// The card as it is now.
    pub fn current(&self) -> Arc<ServedCardText> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The card, for clients of every version.
fn agent_card(settings: &CardSettings) -> Value {
    let CardSettings { name, description, url, is_strict } = settings;
    let rpc = format!("{url}/a2a/rpc");
    let mut card = json!({
        "name": name,
        "description": description,
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [
            { "url": rpc, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" },
            { "url": format!("{url}/a2a/http"), "protocolBinding": "HTTP+JSON",
              "protocolVersion": "1.0" },
        ],
        "capabilities": {
            "streaming": true, "pushNotifications": true, "extendedAgentCard": false,
        },
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "securitySchemes": { "mtls": { "mtlsSecurityScheme": {
            "description": "A certificate of the fleet that names the agent.",
        } } },
        "securityRequirements": [{ "schemes": { "mtls": {} } }],
        "skills": [{
            "id": "task", "name": "Task",
            "description": "Does a task given as text. A person may have to approve it first.",
            "tags": ["delegation"],
        }],
    });
    if !is_strict {
        set(&mut card, "protocolVersion", json!("0.3.0"));
        set(&mut card, "preferredTransport", json!("JSONRPC"));
        set(&mut card, "url", json!(rpc));
        set(&mut card, "a2aTaskEndpoint", json!(rpc));
    }
    card
}
