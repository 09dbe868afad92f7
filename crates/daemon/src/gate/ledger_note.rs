//! What the ledger records with a write: the rules in force and who made it.

use countersign_store::WriteContext;
use serde_json::json;

use super::Gate;

impl Gate {
    /// The ledger note of a write.
    pub fn note(&self) -> WriteContext {
        WriteContext { policy: self.rules().hash, facts: None, edited: None }
    }

    /// The ledger note of a write, with the person who made it.
    pub fn note_by(&self, person: &str) -> WriteContext {
        let facts = Some(json!({ "by": person }).to_string());
        WriteContext { policy: self.rules().hash, facts, edited: None }
    }
}
