//! What the user of a conversation sees while a person has taken it over.

use serde_json::{Value, json};

use crate::gate::Gate;

/// What is shown in place of the agent's text.
pub const NOTICE: &str = "A person has taken over this conversation and will write to you here.";

/// The member `takeover`: since when, and what the person wrote; null while no one has taken over.
/// The person's name is not told.
pub fn document(gate: &Gate, agent: &str, session: &str) -> Value {
    let Some(takeover) = gate.crises().takeover(agent, Some(session)) else { return Value::Null };
    let messages = gate.crisis_turns().messages(agent, session);
    json!({ "since": takeover.at, "notice": NOTICE, "messages": messages })
}
