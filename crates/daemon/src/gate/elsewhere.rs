//! Calls that passed beside the gate: a gateway let them, by the same judgement.

use std::borrow::Cow;

use countersign_json::Value;
use countersign_ledger::entry::Kind;
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::route::{Pass, Route};
use countersign_store::{Store as _, StoreError};
use countersign_types::time::Clock as _;

use super::{Caller, Gate, answer, line_of};

/// Who says that a call passed, and when it did.
#[derive(Debug, Clone, Copy)]
pub struct Reported<'a> {
    /// The gateway: the agent's hook, or a proxy.
    pub gateway: &'a str,
    /// How long ago.
    pub seconds_ago: f64,
}

impl Gate {
    /// Writes such a call down. Says whether this gate would not have let it pass: then somebody
    /// went by other rules, and that stands in the ledger.
    pub async fn passed_elsewhere(
        &self,
        mut call: Call<'_>,
        raw: &str,
        caller: &Caller,
        reported: Reported<'_>,
    ) -> Result<bool, StoreError> {
        let rules = self.rules();
        let (seen, goes) = self.judge(&rules, &mut call, caller);
        let would_ask = !matches!(goes, Route::Pass { .. });
        self.metrics.call(&goes, seen.tier, &caller.agent, self.clock.now().at);
        let digest = digest(&call, raw.as_bytes());
        let mut entry = line_of(Kind::Pass, &rules, &call, &digest);
        let why = if would_ask { Pass::Watching } else { Pass::Harmless };
        entry.facts = answer::pass_facts(&seen, why);
        let gateway: String = reported.gateway.chars().take(60).collect();
        entry.facts.push((Cow::Borrowed("reported_by"), Value::String(gateway.into())));
        let ago = format!("{:.0}", reported.seconds_ago.clamp(0.0, 1e9));
        entry.facts.push((Cow::Borrowed("seconds_ago"), Value::Number(ago.into())));
        if would_ask {
            tracing::warn!(agent = caller.agent, "a gateway let a call pass that would be asked");
        }
        self.store.record_pass(entry).await?;
        Ok(would_ask)
    }
}
