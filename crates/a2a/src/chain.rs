//! The chain of requesters: who asked whom, the first one first. Each node adds the sender that its
//! certificate proves; what stands before it is the sender's claim.

use countersign_tls::is_agent_name;
use serde_json::Value;

use crate::error::A2aError;

/// The member of the metadata that carries the chain.
pub const CHAIN: &str = "countersign/chain";

/// The chain of a task that `peer` sent to `own`, with the peer at its end.
pub fn chain_of(
    metadata: &Value,
    peer: &str,
    own: &str,
    max_depth: usize,
) -> Result<Vec<String>, A2aError> {
    let claimed = match metadata.get(CHAIN) {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(list)) => list,
        Some(_) => return Err(invalid()),
    };
    let names: Option<Vec<&str>> = claimed.iter().map(Value::as_str).collect();
    let names = names.filter(|names| names.iter().all(|name| is_agent_name(name)));
    let mut chain: Vec<String> =
        names.ok_or_else(invalid)?.into_iter().map(ToOwned::to_owned).collect();
    if chain.last().map(String::as_str) != Some(peer) {
        chain.push(peer.to_owned());
    }
    if chain.iter().any(|name| name == own) {
        return Err(A2aError::NotAllowed(format!(
            "the task comes back to {own}, which is in its own chain of requesters"
        )));
    }
    let repeats = chain
        .iter()
        .enumerate()
        .any(|(at, name)| chain.iter().skip(at + 1).any(|other| other == name));
    if repeats {
        return Err(A2aError::NotAllowed(
            "an agent is in the chain of requesters twice".to_owned(),
        ));
    }
    if chain.len() > max_depth {
        return Err(A2aError::NotAllowed(format!(
            "the task was delegated {} times; at most {max_depth} are allowed",
            chain.len()
        )));
    }
    Ok(chain)
}

/// The metadata without the claimed chain.
pub fn without_chain(mut metadata: Value) -> Value {
    if let Some(members) = metadata.as_object_mut() {
        members.remove(CHAIN);
    }
    metadata
}

fn invalid() -> A2aError {
    A2aError::InvalidParams(format!("metadata `{CHAIN}` must be a list of names of agents"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_sender_is_always_the_last_one() {
        let chain = |claimed: Value| chain_of(&json!({ CHAIN: claimed }), "bob", "carol", 4);
        assert_eq!(chain(json!([])).unwrap(), ["bob"]);
        assert_eq!(chain(json!(["alice"])).unwrap(), ["alice", "bob"]);
        assert_eq!(chain(json!(["alice", "bob"])).unwrap(), ["alice", "bob"]);
        assert_eq!(chain_of(&json!({}), "bob", "carol", 4).unwrap(), ["bob"]);
    }

    #[test]
    fn loops_and_long_chains_are_refused() {
        let refused =
            |claimed: Value| chain_of(&json!({ CHAIN: claimed }), "bob", "carol", 4).is_err();
        assert!(refused(json!(["carol"])), "back to us");
        assert!(refused(json!(["bob", "alice"])), "bob twice");
        assert!(refused(json!(["a", "b", "c", "d"])), "too deep");
        assert!(refused(json!("alice")) && refused(json!([1])) && refused(json!(["a b"])));
    }
}
