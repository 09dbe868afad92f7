//! Administrators adopt the rules of a project, after which they may also allow, or revoke that.

use std::path::Path;
use std::sync::Arc;

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{
    ADOPTED_FACT, FILE_DIGEST_FACT, PROJECTS_FACT, Store as _, StoreError, UNADOPTED_FACT,
    WriteContext,
};
use countersign_types::time::Clock as _;

use super::adopted_projects::{AdoptedByFolder, AdoptedProject, adoptions_digest};
use super::integrity::owned_facts;
use super::state::Gate;
use super::uninterrupted::uninterrupted;
use crate::config::policy::unknown_route;
use crate::keys::Keys;
use crate::recorded_settings::RecordedSettings;

/// How many projects can be adopted.
const MAX_ADOPTED: usize = 1_000;

impl Gate {
    /// Uses the adoptions in the state folder, as far as the ledger confirms them.
    pub fn use_adopted_projects(&self, folder: &Path, keys: &Keys, recorded: &RecordedSettings) {
        let named = &recorded.adopted;
        let recorded = recorded.projects.as_deref().filter(|_| self.integrity.fault().is_none());
        self.projects.adopted.open((folder, keys), recorded, named);
    }

    /// The folders whose adopted rules are lost: the file of adoptions was deleted or replaced.
    pub fn lost_projects(&self) -> std::collections::BTreeSet<String> {
        self.projects.adopted.lost()
    }

    /// The adopted projects, by their folder.
    pub fn adopted_projects(&self) -> std::sync::Arc<AdoptedByFolder> {
        self.projects.adopted.all()
    }

    /// A person adopts the rules in a text for a folder. Returns how many rules there are, or what
    /// is wrong with them: their tests must pass.
    pub async fn adopt_project(
        self: &Arc<Gate>,
        (folder, text): (&str, &str),
        person: &str,
        note: WriteContext,
    ) -> Result<Result<usize, String>, StoreError> {
        let (gate, person) = (Arc::clone(self), person.to_owned());
        let (folder, text) = (folder.to_owned(), text.to_owned());
        let adopted = async move { gate.record_adoption((&folder, &text), &person, note).await };
        uninterrupted(adopted).await
    }

    async fn record_adoption(
        &self,
        (folder, text): (&str, &str),
        person: &str,
        note: WriteContext,
    ) -> Result<Result<usize, String>, StoreError> {
        self.integrity.check()?;
        let rules = self.rules();
        let policy = match self.projects.compiled(folder, text, rules.policy.permit_up_to()) {
            Ok(policy) => policy,
            Err(problem) => return Ok(Err(problem)),
        };
        let is_known = |name: &str| rules.is_channel_or_rota(name);
        if let Some(problem) = unknown_route(policy.rules(), is_known) {
            return Ok(Err(problem));
        }
        if let Some(failed) = policy.run_cases(&rules.assessment).first() {
            return Ok(Err(format!("test {failed}")));
        }
        let _turn = self.changing_rules.lock().await;
        let mut all = (*self.adopted_projects()).clone();
        if all.len() >= MAX_ADOPTED && !all.contains_key(folder) {
            return Ok(Err(format!("{MAX_ADOPTED} projects are adopted; revoke one first")));
        }
        let adopted = AdoptedProject {
            text: text.to_owned(),
            person: person.to_owned(),
            at: self.clock.now().at.0,
            allows: true,
        };
        all.insert(folder.to_owned(), adopted);
        let digest = policy.digest().to_string();
        let what = [(ADOPTED_FACT, folder), (FILE_DIGEST_FACT, digest.as_str())];
        self.record_projects((all, folder), (person, note), &what).await?;
        tracing::warn!(person, folder, digest = %policy.digest(), "project rules were adopted");
        Ok(Ok(policy.rules().rules().len()))
    }

    /// A person revokes an adoption. Returns whether there was one.
    pub async fn revoke_project(
        self: &Arc<Gate>,
        folder: &str,
        person: &str,
        note: WriteContext,
    ) -> Result<bool, StoreError> {
        let (gate, folder, person) = (Arc::clone(self), folder.to_owned(), person.to_owned());
        uninterrupted(async move { gate.end_adoption(&folder, &person, note).await }).await
    }

    async fn end_adoption(
        &self,
        folder: &str,
        person: &str,
        note: WriteContext,
    ) -> Result<bool, StoreError> {
        self.integrity.check()?;
        let _turn = self.changing_rules.lock().await;
        let mut all = (*self.adopted_projects()).clone();
        if all.remove(folder).is_none() && !self.lost_projects().contains(folder) {
            return Ok(false);
        }
        self.record_projects((all, folder), (person, note), &[(UNADOPTED_FACT, folder)]).await?;
        tracing::warn!(person, folder, "an adoption of project rules was revoked");
        Ok(true)
    }

    /// Replaces the adoptions, after the change is in the ledger.
    async fn record_projects(
        &self,
        (all, folder): (AdoptedByFolder, &str),
        (person, note): (&str, WriteContext),
        what: &[(&'static str, &str)],
    ) -> Result<(), StoreError> {
        let mut entry = Entry::new(0, EntryKind::Config, self.rules().hash);
        entry.person = Some(person.to_owned().into());
        entry.facts = owned_facts(&note);
        let digest = adoptions_digest(&all);
        for (name, value) in what.iter().copied().chain([(PROJECTS_FACT, &*digest)]) {
            entry.facts.retain(|(known, _)| known != name);
            entry.facts.push((name.into(), Value::String(value.to_owned().into())));
        }
        self.store.append(vec![entry]).await?;
        self.projects.adopted.replace(all, folder);
        self.update_policy_marker(&self.rules().policy);
        Ok(())
    }
}
