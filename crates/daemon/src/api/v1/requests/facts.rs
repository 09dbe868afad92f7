//! Reads what a caller found on its machine. Who looked is decided by the gate.

use countersign_json::canonical::Digest;
use countersign_risk::call::Call;
use countersign_risk::facts::{CallFacts, Fact, FactObserver, FactsClaim, MAX_QUERIES, covered};

use crate::api::ApiProblem;
use crate::api::fields::Fields;

/// The facts of a call. They count as the agent's own until the gate has checked their proof.
pub fn read(fields: &Fields<'_, '_>, call: &Call<'_>) -> Result<Option<CallFacts>, ApiProblem> {
    let observer = fields.text("facts_observer")?;
    let proof = fields.text("facts_proof")?;
    let Some(text) = fields.text("facts")? else { return Ok(None) };
    let invalid = |detail: &str| ApiProblem::bad_request(format!("`facts` {detail}"));
    let found: Vec<Fact> = serde_json::from_str(text)
        .map_err(|error| invalid(&format!("must be the JSON text of a list of facts: {error}")))?;
    if found.len() > MAX_QUERIES {
        return Err(invalid(&format!("may have at most {MAX_QUERIES} items")));
    }
    let claim = match (observer, proof) {
        (Some("hook"), Some(proof)) => {
            let proof = Digest::parse(proof)
                .map_err(|error| ApiProblem::bad_request(format!("`facts_proof`: {error}")))?;
            let arguments = call.arguments.to_json();
            let covers = covered(&call.tool, &arguments, call.context.cwd, text);
            Some(FactsClaim { observer: FactObserver::Hook, covers, proof })
        }
        _ => None,
    };
    Ok(Some(CallFacts { found, claim, ..CallFacts::none(FactObserver::Agent) }))
}
