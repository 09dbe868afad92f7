//! The settings in force by which calls run without a person, and those that protect the gate. The
//! file can tighten them at once; to widen them, a person must confirm the change, because whoever
//! can edit a file could otherwise let calls run first, have approvals learned, or list grants.

use std::sync::{Arc, PoisonError};

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Store as _, StoreError, UNATTENDED_FACT, WriteContext};

use super::integrity::owned_facts;
use super::requested_settings::{RequestedSettings, WaitingSettings};
use super::state::Gate;
use super::uninterrupted::uninterrupted;
use crate::config::{DaemonRules, UnattendedSettings};
use crate::ledger_mark::LedgerMark;
use crate::recorded_settings::{RecordedSettings, unattended_fact};

/// How many characters of a hash name it.
const MIN_HASH: usize = 16;

impl Gate {
    /// The settings of the file that wait for a person.
    pub fn requested_settings(&self) -> Option<RequestedSettings> {
        let waiting = self.waiting_settings.get()?;
        waiting.read().unwrap_or_else(PoisonError::into_inner).as_deref().cloned()
    }

    /// Applies the confirmed settings to the rules of the start. The operator chooses those of a
    /// new installation; of another one, the ledger says which were in force.
    pub async fn use_confirmed_settings(
        &self,
        recorded: &RecordedSettings,
    ) -> Result<(), StoreError> {
        let is_new = !self.integrity.mark().is_some_and(LedgerMark::was_found);
        let mut rules = (*self.rules()).clone();
        let before = match &recorded.unattended {
            // An older ledger, or one that was changed, switches nothing on.
            found if self.integrity.fault().is_some() => {
                let strictest = UnattendedSettings::strictest();
                let found = found.as_deref().and_then(UnattendedSettings::from_json);
                found.map_or(strictest.clone(), |found| found.narrowed_to(&strictest))
            }
            Some(text) => {
                UnattendedSettings::from_json(text).unwrap_or_else(UnattendedSettings::strictest)
            }
            None if is_new => UnattendedSettings::of(&rules),
            None => UnattendedSettings::default(),
        };
        self.waiting_settings.get_or_init(WaitingSettings::default);
        self.hold_wider_settings(&mut rules, &before);
        let fact = unattended_fact(&rules);
        if self.integrity.fault().is_none() && recorded.unattended.as_deref() != fact.1.as_str() {
            let mut entry = Entry::new(0, EntryKind::Config, rules.hash);
            entry.facts = vec![fact];
            self.store.append(vec![entry]).await?;
        }
        self.use_listed_grants_and_judge(&rules).await?;
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(())
    }

    /// Keeps those settings before in force by which the new ones let more calls run without a
    /// person; the others of the file are in force at once.
    pub(super) fn hold_wider_settings(&self, rules: &mut DaemonRules, before: &UnattendedSettings) {
        let Some(waiting) = self.waiting_settings.get() else { return };
        let settings = UnattendedSettings::of(rules);
        let changes = settings.wider_than(before);
        let requested = (!changes.is_empty()).then(|| {
            rules.set_unattended(settings.narrowed_to(before));
            Box::new(RequestedSettings { settings, changes })
        });
        *waiting.write().unwrap_or_else(PoisonError::into_inner) = requested;
    }

    /// A person confirms the settings that wait. Returns what they let run; `None` if others wait,
    /// or none.
    pub async fn confirm_settings(
        self: &Arc<Gate>,
        hash: &str,
        person: &str,
        note: WriteContext,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let (gate, hash, person) = (Arc::clone(self), hash.to_owned(), person.to_owned());
        uninterrupted(async move { gate.use_requested_settings(&hash, &person, note).await }).await
    }

    async fn use_requested_settings(
        &self,
        hash: &str,
        person: &str,
        note: WriteContext,
    ) -> Result<Option<Vec<String>>, StoreError> {
        self.integrity.check()?;
        let _turn = self.changing_rules.lock().await;
        let named =
            |one: &RequestedSettings| hash.len() >= MIN_HASH && one.hash().starts_with(hash);
        let Some(waiting) = self.waiting_settings.get() else { return Ok(None) };
        let Some(requested) = self.requested_settings().filter(named) else { return Ok(None) };
        let RequestedSettings { settings, changes } = requested;
        let mut rules = (*self.rules()).clone();
        rules.set_unattended(settings);
        let mut entry = Entry::new(0, EntryKind::Config, rules.hash);
        entry.person = Some(person.to_owned().into());
        entry.facts = owned_facts(&note);
        entry.facts.retain(|(name, _)| name != UNATTENDED_FACT);
        let confirmed = changes.iter().map(|text| Value::String(text.clone().into())).collect();
        entry.facts.push(("confirmed_settings".into(), Value::Array(confirmed)));
        entry.facts.push(unattended_fact(&rules));
        self.store.append(vec![entry]).await?;
        self.use_listed_grants_and_judge(&rules).await?;
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        *waiting.write().unwrap_or_else(PoisonError::into_inner) = None;
        tracing::warn!(
            person,
            "settings that let more calls run or protect the gate less were confirmed"
        );
        Ok(Some(changes))
    }
}
