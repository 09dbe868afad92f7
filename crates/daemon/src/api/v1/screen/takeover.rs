//! What the user of a conversation sees while a person has taken it over.

use countersign_types::time::Clock as _;
use serde_json::{Value, json};

use crate::gate::Gate;

/// What is shown in place of the agent's text.
pub const NOTICE: &str = "A person has taken over this conversation and will write to you here.";

/// The member `takeover`: since when, and what the person wrote; null while no one has taken over.
/// A takeover without a session is one of every session. The person's name is not told.
pub fn document(gate: &Gate, agent: &str, session: &str) -> Value {
    let Some(takeover) = gate.crises().takeover(agent, Some(session)) else { return Value::Null };
    let is_own = session.is_empty() || gate.crises().is_taken_over(agent, session);
    let written_to = if is_own { session } else { "" };
    let messages = gate.crisis_turns().messages(agent, written_to, gate.clock().now().at);
    json!({ "since": takeover.at, "notice": NOTICE, "messages": messages })
}
