//! Passes reported by gateways, which assess calls with the same rules.

use std::borrow::Cow;

use countersign_json::Value;
use countersign_ledger::entry::EntryKind;
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::route::{Pass, Route};
use countersign_store::{Store as _, StoreError};
use countersign_types::time::Clock as _;

use super::answer;
use super::call_entry::call_entry;
use super::call_projects::CallProjects;
use super::caller::Caller;
use super::state::Gate;

/// The source and time of a reported pass.
#[derive(Debug, Clone, Copy)]
pub struct PassReport<'a> {
    /// The gateway: the agent's hook or a proxy.
    pub gateway: &'a str,
    /// How long ago the call passed.
    pub seconds_ago: f64,
}

impl Gate {
    /// Records a call that a gateway let pass. Returns whether this gate would have asked a person:
    /// then the gateway used other rules, and the ledger says so.
    pub async fn record_reported_pass(
        &self,
        mut call: Call<'_>,
        raw: &str,
        caller: &Caller,
        reported: PassReport<'_>,
    ) -> Result<bool, StoreError> {
        let rules = self.rules();
        let (seen, goes) =
            self.assess_call(&rules, &mut call, caller, (false, &CallProjects::default()));
        let would_ask = !matches!(goes, Route::Pass { .. });
        self.metrics.call(&goes, seen.tier, &caller.agent, self.clock.now().at);
        let digest = digest(&call, raw.as_bytes());
        let mut entry = call_entry(EntryKind::Pass, &rules, &call, &digest);
        let why = if would_ask { Pass::Watching } else { Pass::Harmless };
        entry.facts = answer::pass_facts(&seen, why);
        let gateway: String = reported.gateway.chars().take(60).collect();
        entry.facts.push((Cow::Borrowed("reported_by"), Value::String(gateway.into())));
        let ago = format!("{:.0}", reported.seconds_ago.clamp(0.0, 1e9));
        entry.facts.push((Cow::Borrowed("seconds_ago"), Value::Number(ago.into())));
        if would_ask {
            tracing::warn!(
                agent = caller.agent,
                "a gateway let a call pass that needs a decision here: it uses other rules"
            );
        }
        self.store.record_pass(entry).await?;
        Ok(would_ask)
    }
}
