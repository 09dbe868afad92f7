//! The policy rules that people confirmed, in a file with a code that only this daemon can make.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};

use countersign_policy::CompiledPolicy;

use super::sealed_file::SealedFile;
use crate::keys::Keys;

/// The file beside the key.
const FILE: &str = "policy.confirmed";

/// Rules that wait for a person.
#[derive(Debug, Clone)]
pub struct RequestedPolicy {
    /// The rules.
    pub policy: Arc<CompiledPolicy>,
    /// What lets more calls pass.
    pub changes: Vec<String>,
}

/// The confirmed rules, and those that wait.
pub struct ConfirmedPolicy {
    file: SealedFile,
    pub(super) requested: RwLock<Option<RequestedPolicy>>,
    /// Whether the confirmed rules are unknown: their file is gone or an older one.
    pub(super) is_unknown: AtomicBool,
}

impl ConfirmedPolicy {
    pub(super) fn at(folder: &Path, keys: &Keys) -> ConfirmedPolicy {
        ConfirmedPolicy {
            file: SealedFile::at(folder, FILE, keys, "confirmed policy"),
            requested: RwLock::default(),
            is_unknown: AtomicBool::new(false),
        }
    }

    pub(super) fn read(&self) -> Option<CompiledPolicy> {
        CompiledPolicy::from_stored(&self.file.read()?)
    }

    pub(super) fn write(&self, policy: &CompiledPolicy) {
        if let Err(error) = self.file.write(&policy.to_stored()) {
            tracing::error!(%error, "the confirmed policy rules were not written down");
        }
    }
}
