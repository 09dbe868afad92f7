//! The policy rules in force. The files can tighten them at once; rules that let more pass wait for
//! a person, because whoever can edit a file could otherwise let calls pass.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_policy::CompiledPolicy;
use countersign_store::{POLICY_FACT, Store as _, StoreError, WriteContext};

use super::confirmed_policy::{ConfirmedPolicy, RequestedPolicy};
use super::integrity::owned_facts;
use super::state::Gate;
use super::uninterrupted::uninterrupted;
use crate::config::DaemonRules;
use crate::keys::Keys;
use crate::ledger_mark::LedgerMark;
use crate::recorded_settings::{RecordedSettings, mode_fact, policy_digest, policy_fact};

/// What is said about rules that nobody knows any more.
const UNKNOWN: &str = "the rules before are unknown, because policy.confirmed was deleted or \
                       replaced; until an administrator confirms, every call is a question";
/// How many characters of a hash name it.
const MIN_HASH: usize = 16;

impl Gate {
    /// The rules of the files that wait for a person.
    pub fn requested_policy(&self) -> Option<RequestedPolicy> {
        let kept = self.confirmed_policy.get()?;
        kept.requested.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether nobody knows which rules people confirmed.
    pub(super) fn is_policy_unknown(&self) -> bool {
        let kept = self.confirmed_policy.get();
        kept.is_some_and(|kept| kept.is_unknown.load(Ordering::Acquire))
    }

    /// Applies the confirmed rules to the rules of the start. The operator chooses the rules of a
    /// new installation. The ledger says which rules were in force; if their file is gone or an
    /// older one, a person must confirm the rules of the configuration.
    pub async fn use_confirmed_policy(
        &self,
        folder: &Path,
        keys: &Keys,
        recorded: &RecordedSettings,
    ) -> Result<(), StoreError> {
        self.api_rules.set_folder(folder);
        let kept = ConfirmedPolicy::at(folder, keys);
        let mut rules = (*self.rules()).clone();
        let before = self.rules_before(kept.read(), &rules.policy, recorded);
        let kept = self.confirmed_policy.get_or_init(|| kept);
        if let Some(before) = before {
            self.hold_weaker_policy(&mut rules, &before);
            self.record_in_force(&rules, recorded).await?;
            self.keep_policy(&rules.policy);
        } else {
            kept.is_unknown.store(true, Ordering::Release);
            let (policy, mut changes) = (Arc::clone(&rules.policy), vec![UNKNOWN.to_owned()]);
            changes.extend(policy.weaker_than(&CompiledPolicy::none()));
            rules.set_policy(Arc::new(policy.asking_always()));
            *kept.requested.write().unwrap_or_else(PoisonError::into_inner) =
                Some(RequestedPolicy { policy, changes });
        }
        self.update_policy_marker(&rules.policy);
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(())
    }

    /// The confirmed rules; `None` if nobody knows them. `stored`: those of the file beside the
    /// key, `written`: those of the configuration.
    fn rules_before(
        &self,
        stored: Option<CompiledPolicy>,
        written: &Arc<CompiledPolicy>,
        recorded: &RecordedSettings,
    ) -> Option<Arc<CompiledPolicy>> {
        let none = || Arc::new(CompiledPolicy::none());
        if self.integrity.fault().is_some() {
            // The ledger may be another one: only if everything agrees, nothing was changed.
            let digest = policy_digest(written);
            let stored = policy_digest(&stored.unwrap_or_else(CompiledPolicy::none));
            let recorded = recorded.policy.clone();
            let recorded = recorded.unwrap_or_else(|| policy_digest(&none()));
            return (digest == stored && digest == recorded).then(|| Arc::clone(written));
        }
        let Some(digest) = &recorded.policy else {
            let is_new = !self.integrity.mark().is_some_and(LedgerMark::was_found);
            let first = || if is_new { Arc::clone(written) } else { none() };
            return Some(stored.map_or_else(first, Arc::new));
        };
        if policy_digest(written) == *digest {
            return Some(Arc::clone(written));
        }
        stored.filter(|stored| policy_digest(stored) == *digest).map(Arc::new)
    }

    /// Records the mode and the rules in force, if the ledger does not say them yet.
    async fn record_in_force(
        &self,
        rules: &DaemonRules,
        recorded: &RecordedSettings,
    ) -> Result<(), StoreError> {
        let policy = policy_digest(&rules.policy);
        let is_known = recorded.mode == Some(rules.mode) && recorded.policy == Some(policy);
        if is_known || self.integrity.fault().is_some() {
            return Ok(());
        }
        let mut entry = Entry::new(0, EntryKind::Config, rules.hash);
        entry.facts = vec![mode_fact(rules.mode), policy_fact(&rules.policy)];
        self.store.append(vec![entry]).await
    }

    /// Keeps the rules before in force if the new ones let more calls pass.
    pub(super) fn hold_weaker_policy(&self, rules: &mut DaemonRules, before: &Arc<CompiledPolicy>) {
        let Some(kept) = self.confirmed_policy.get() else { return };
        let changes = rules.policy.weaker_than(before);
        let requested = (!changes.is_empty()).then(|| {
            let policy = Arc::clone(&rules.policy);
            rules.set_policy(Arc::clone(before));
            RequestedPolicy { policy, changes }
        });
        *kept.requested.write().unwrap_or_else(PoisonError::into_inner) = requested;
    }

    /// Writes down the rules in force, after the ledger says them.
    pub(super) fn keep_policy(&self, policy: &CompiledPolicy) {
        let known = self.confirmed_policy.get().filter(|_| !self.is_policy_unknown());
        if let Some(kept) = known {
            kept.write(policy);
        }
    }

    /// A person confirms the rules that wait. Returns what they let pass; `None` if other rules
    /// wait, or none.
    pub async fn confirm_policy(
        self: &Arc<Gate>,
        hash: &str,
        person: &str,
        note: WriteContext,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let (gate, hash, person) = (Arc::clone(self), hash.to_owned(), person.to_owned());
        uninterrupted(async move { gate.use_requested_policy(&hash, &person, note).await }).await
    }

    async fn use_requested_policy(
        &self,
        hash: &str,
        person: &str,
        note: WriteContext,
    ) -> Result<Option<Vec<String>>, StoreError> {
        self.integrity.check()?;
        let _turn = self.changing_rules.lock().await;
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
        entry.facts.retain(|(name, _)| name != POLICY_FACT);
        entry.facts.push(("confirmed_policy".into(), Value::Array(confirmed)));
        entry.facts.push(policy_fact(&policy));
        self.store.append(vec![entry]).await?;
        kept.is_unknown.store(false, Ordering::Release);
        kept.write(&policy);
        *kept.requested.write().unwrap_or_else(PoisonError::into_inner) = None;
        self.update_policy_marker(&rules.policy);
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        tracing::warn!(person, policy = %policy.hash(), "policy rules were confirmed");
        Ok(Some(changes))
    }
}
