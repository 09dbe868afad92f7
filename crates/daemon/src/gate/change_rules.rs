//! Replaces the rules while the daemon runs.

use std::sync::{Arc, PoisonError};

use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Store as _, StoreError};
use countersign_types::time::Clock as _;

use super::state::Gate;
use crate::config::{DaemonRules, UnattendedSettings, mode_name};
use crate::recorded_settings::{
    mode_fact, policy_fact, unattended_fact, with_changes, written_fact,
};

impl Gate {
    /// Replaces the rules, after the change is in the ledger. A weaker mode
    /// and wider settings wait for a person.
    pub async fn change_rules(&self, rules: DaemonRules) -> Result<(), StoreError> {
        let _turn = self.changing_rules.lock().await;
        let changes = self.rules().written.changes(&rules.written);
        let mut rules = self.confirmed(rules).await?;
        self.hold_weaker_policy(&mut rules, &self.rules().policy);
        self.hold_wider_settings(&mut rules, &UnattendedSettings::of(&self.rules()));
        let mut entry = Entry::new(0, EntryKind::Config, rules.hash);
        let text = |text: String| countersign_json::Value::String(text.into());
        if let Some(mode) = self.requested_mode() {
            entry.facts.push(("requested_mode".into(), text(mode_name(mode).to_owned())));
        }
        if let Some(requested) = self.requested_policy() {
            let waiting = requested.changes.into_iter().map(text).collect();
            let waiting = countersign_json::Value::Array(waiting);
            entry.facts.push(("requested_policy".into(), waiting));
        }
        if let Some(requested) = self.requested_settings() {
            let waiting = requested.changes.into_iter().map(text).collect();
            let waiting = countersign_json::Value::Array(waiting);
            entry.facts.push(("requested_settings".into(), waiting));
        }
        entry.facts.push(unattended_fact(&rules));
        entry.facts.push(mode_fact(rules.mode));
        entry.facts.push(written_fact(&rules.written.to_json()));
        if !self.is_policy_unknown() {
            entry.facts.push(policy_fact(&rules.policy));
        }
        self.store.append(with_changes(entry, &changes)).await?;
        self.use_listed_grants_and_judge(&rules).await?;
        self.keep_policy(&rules.policy);
        self.update_policy_marker(&rules.policy);
        self.card_settings.update(&rules);
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(())
    }

    /// What follows from the safeguards in these rules.
    pub async fn use_listed_grants_and_judge(&self, rules: &DaemonRules) -> Result<(), StoreError> {
        let (whitelist, now) = (&rules.whitelist, self.clock.now().at);
        self.grants.use_whitelist(&self.store, whitelist, rules.hash, now).await?;
        self.judge.configure(rules.judge.as_ref());
        Ok(())
    }
}
