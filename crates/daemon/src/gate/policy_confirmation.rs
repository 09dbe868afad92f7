//! The policy rules in force. The files can tighten them at once; rules that let more pass wait for
//! a person, because whoever can edit a file could otherwise let calls pass.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_policy::CompiledPolicy;
use countersign_store::{Store as _, StoreError, WriteContext};

use super::confirmed_policy::{ConfirmedPolicy, RequestedPolicy};
use super::integrity::owned_facts;
use super::state::Gate;
use crate::config::DaemonRules;
use crate::keys::Keys;
use crate::ledger_mark::LedgerMark;

/// How many characters of a hash name it.
const MIN_HASH: usize = 16;

impl Gate {
    /// The rules of the files that wait for a person.
    pub fn requested_policy(&self) -> Option<RequestedPolicy> {
        let kept = self.confirmed_policy.get()?;
        kept.requested.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Applies the confirmed rules to the rules of the start. The operator chooses the rules of a
    /// new installation.
    pub fn use_confirmed_policy(&self, folder: &Path, keys: &Keys) {
        let kept = ConfirmedPolicy::at(folder, keys);
        let is_known = self.integrity.mark().is_some_and(LedgerMark::was_found);
        let before = kept.read();
        let mut rules = (*self.rules()).clone();
        let before = match before {
            Some(before) => Arc::new(before),
            None if is_known => Arc::new(CompiledPolicy::none()),
            None => Arc::clone(&rules.policy),
        };
        let _ = self.confirmed_policy.set(kept);
        self.hold_weaker_policy(&mut rules, &before);
        self.policy_marker.update(rules.policy.restricts());
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
    }

    /// Keeps the rules before in force if the new ones let more calls pass.
    pub(super) fn hold_weaker_policy(&self, rules: &mut DaemonRules, before: &Arc<CompiledPolicy>) {
        let Some(kept) = self.confirmed_policy.get() else { return };
        let changes = rules.policy.weaker_than(before);
        let requested = if changes.is_empty() {
            kept.write(&rules.policy);
            None
        } else {
            let policy = Arc::clone(&rules.policy);
            rules.set_policy(Arc::clone(before));
            Some(RequestedPolicy { policy, changes })
        };
        *kept.requested.write().unwrap_or_else(PoisonError::into_inner) = requested;
    }

    /// A person confirms the rules that wait. Returns what they let pass; `None` if other rules
    /// wait, or none.
    pub async fn confirm_policy(
        &self,
        hash: &str,
        person: &str,
        note: WriteContext,
    ) -> Result<Option<Vec<String>>, StoreError> {
        self.integrity.check()?;
        let Some(RequestedPolicy { policy, changes }) = self.requested_policy() else {
            return Ok(None);
        };
        let named = hash.len() >= MIN_HASH && policy.hash().to_string().starts_with(hash);
        let Some(kept) = self.confirmed_policy.get().filter(|_| named) else { return Ok(None) };
        let mut rules = (*self.rules()).clone();
        rules.set_policy(Arc::clone(&policy));
        let mut entry = Entry::new(0, EntryKind::Config, rules.hash);
        entry.person = Some(person.to_owned().into());
        entry.facts = owned_facts(&note);
        let text = |text: &String| Value::String(text.clone().into());
        let confirmed = changes.iter().map(text).collect();
        entry.facts.push(("confirmed_policy".into(), Value::Array(confirmed)));
        self.store.append(vec![entry]).await?;
        kept.write(&policy);
        *kept.requested.write().unwrap_or_else(PoisonError::into_inner) = None;
        self.policy_marker.update(rules.policy.restricts());
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        tracing::warn!(person, policy = %policy.hash(), "policy rules were confirmed");
        Ok(Some(changes))
    }
}
