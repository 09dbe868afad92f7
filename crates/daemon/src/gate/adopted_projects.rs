//! The project rules that administrators adopted, in a file with a code that only this daemon can
//! make. The ledger says which file is the right one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use countersign_json::canonical::Digest;
use countersign_policy::ProjectPolicy;
use countersign_types::tier::Tier;
use serde::{Deserialize, Serialize};

use super::sealed_file::SealedFile;
use crate::keys::Keys;

/// The file beside the key.
const FILE: &str = "policy.adopted";

/// The rules of one project as a person adopted them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdoptedProject {
    /// The text of the file.
    pub text: String,
    /// Who adopted it.
    pub person: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// Whether its rules that allow count. They do not if the ledger names other adoptions.
    pub allows: bool,
}

impl AdoptedProject {
    /// The digest of the text.
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }
}

/// Adopted rules by their folder.
pub type AdoptedByFolder = BTreeMap<String, AdoptedProject>;

/// All adoptions.
#[derive(Default)]
pub struct AdoptedProjects {
    file: OnceLock<SealedFile>,
    by_folder: RwLock<Arc<AdoptedByFolder>>,
    /// Folders whose rules a person adopted, and whose text is not in the file any more.
    lost: RwLock<BTreeSet<String>>,
    restricts: AtomicBool,
}

impl AdoptedProjects {
    /// Reads the file. `recorded`: the digest that the ledger names; if it is another one, nothing
    /// that was adopted allows any more. `named`: the texts that the ledger names; those that are
    /// missing are lost, and a person decides about every call of their projects.
    pub(super) fn open(
        &self,
        (folder, keys): (&Path, &Keys),
        recorded: Option<&str>,
        named: &BTreeMap<String, String>,
    ) {
        let file = SealedFile::at(folder, FILE, keys, "adopted project rules");
        let text = file.read().unwrap_or_default();
        let mut all: AdoptedByFolder = serde_json::from_str(&text).unwrap_or_default();
        if recorded != Some(&*adoptions_digest(&all)) {
            if recorded.is_some() || !all.is_empty() {
                tracing::error!(
                    "policy.adopted was deleted or replaced: adopted project rules only restrict"
                );
            }
            for adopted in all.values_mut() {
                adopted.allows = false;
            }
        }
        let is_there = |(folder, digest): &(&String, &String)| {
            all.get(*folder).is_some_and(|one| one.digest().to_string() == **digest)
        };
        let lost = named.iter().filter(|one| !is_there(one)).map(|(folder, _)| folder.clone());
        *self.lost.write().unwrap_or_else(PoisonError::into_inner) = lost.collect();
        let _ = self.file.set(file);
        self.set(all);
    }

    /// All adoptions.
    pub(super) fn all(&self) -> Arc<AdoptedByFolder> {
        Arc::clone(&self.by_folder.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The folders whose adopted rules are lost.
    pub(super) fn lost(&self) -> BTreeSet<String> {
        self.lost.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether adopted rules deny or ask, or may have done so before they were lost.
    pub(super) fn restricts(&self) -> bool {
        self.restricts.load(Ordering::Acquire)
    }

    /// Whether a person adopted exactly these rules for their folder.
    pub(super) fn allows(&self, policy: &ProjectPolicy) -> bool {
        let all = self.all();
        let adopted = all.get(policy.folder());
        adopted.is_some_and(|one| one.allows && one.digest() == policy.digest())
    }

    /// Whether a person adopted these rules for their folder, whatever the ledger says by now.
    pub(super) fn has(&self, policy: &ProjectPolicy) -> bool {
        let all = self.all();
        all.get(policy.folder()).is_some_and(|one| one.digest() == policy.digest())
    }

    /// Adopted rules of the projects that one of these places is in.
    pub(super) fn around(&self, places: &[PathBuf]) -> Vec<(String, AdoptedProject)> {
        let all = self.all();
        let found = all.iter().filter(|(folder, _)| is_around(folder, places));
        found.map(|(folder, adopted)| (folder.clone(), adopted.clone())).collect()
    }

    /// The folders around one of these places whose adopted rules are lost.
    pub(super) fn lost_around(&self, places: &[PathBuf]) -> Vec<String> {
        let lost = self.lost.read().unwrap_or_else(PoisonError::into_inner);
        lost.iter().filter(|folder| is_around(folder, places)).cloned().collect()
    }

    /// Replaces all adoptions, after the ledger names them. `decided`: the folder that a person
    /// decided about, whose rules are not lost any more.
    pub(super) fn replace(&self, all: AdoptedByFolder, decided: &str) {
        let written = self.file.get().map(|file| file.write(&written(&all)));
        if let Some(Err(error)) = written {
            tracing::error!(%error, "the adopted project rules were not written down");
        }
        self.lost.write().unwrap_or_else(PoisonError::into_inner).remove(decided);
        self.set(all);
    }

    fn set(&self, all: AdoptedByFolder) {
        let is_lost = !self.lost.read().unwrap_or_else(PoisonError::into_inner).is_empty();
        let restricts = is_lost || all.iter().any(|(folder, one)| restricts(folder, &one.text));
        self.restricts.store(restricts, Ordering::Release);
        *self.by_folder.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(all);
    }
}

fn is_around(folder: &str, places: &[PathBuf]) -> bool {
    places.iter().any(|place| place.starts_with(folder))
}

/// Whether rules deny or ask. Rules that this version cannot read do: a person decides then.
fn restricts(folder: &str, text: &str) -> bool {
    let rules = ProjectPolicy::compile(folder, text, Tier::Low);
    rules.map_or(true, |policy| policy.rules().restricts())
}

/// The digest of all adoptions, as the ledger names it.
pub fn adoptions_digest(all: &AdoptedByFolder) -> String {
    Digest::of(written(all).as_bytes()).to_string()
}

fn written(all: &AdoptedByFolder) -> String {
    serde_json::to_string(all).unwrap_or_default()
}
