//! The project rules that administrators adopted, in a file with a code that only this daemon can
//! make. The ledger says which file is the right one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use countersign_json::canonical::Digest;
use countersign_policy::ProjectPolicy;
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
}

impl AdoptedProjects {
    /// Reads the file. `recorded`: the digest that the ledger names; if it is another one, nothing
    /// that was adopted allows any more.
    pub(super) fn open(&self, folder: &Path, keys: &Keys, recorded: Option<&str>) {
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
        let _ = self.file.set(file);
        self.set(all);
    }

    /// All adoptions.
    pub(super) fn all(&self) -> Arc<AdoptedByFolder> {
        Arc::clone(&self.by_folder.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a person adopted exactly these rules for their folder.
    pub(super) fn allows(&self, policy: &ProjectPolicy) -> bool {
        let all = self.all();
        let adopted = all.get(policy.folder());
        adopted.is_some_and(|one| one.allows && one.digest() == policy.digest())
    }

    /// Adopted rules of the projects that one of these places is in.
    pub(super) fn around(&self, places: &[PathBuf]) -> Vec<(String, AdoptedProject)> {
        let all = self.all();
        let is_around = |folder: &str| places.iter().any(|place| place.starts_with(folder));
        let found = all.iter().filter(|(folder, _)| is_around(folder));
        found.map(|(folder, adopted)| (folder.clone(), adopted.clone())).collect()
    }

    /// Replaces all adoptions, after the ledger names them.
    pub(super) fn replace(&self, all: AdoptedByFolder) {
        let written = self.file.get().map(|file| file.write(&written(&all)));
        if let Some(Err(error)) = written {
            tracing::error!(%error, "the adopted project rules were not written down");
        }
        self.set(all);
    }

    fn set(&self, all: AdoptedByFolder) {
        *self.by_folder.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(all);
    }
}

/// The digest of all adoptions, as the ledger names it.
pub fn adoptions_digest(all: &AdoptedByFolder) -> String {
    Digest::of(written(all).as_bytes()).to_string()
}

fn written(all: &AdoptedByFolder) -> String {
    serde_json::to_string(all).unwrap_or_default()
}
