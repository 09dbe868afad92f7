//! Policy rules that people apply through the API: the file in the state folder, and the rules that
//! it would bring into force.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use countersign_json::canonical::Digest;
use countersign_policy::{CompiledPolicy, PolicySource};

use crate::config::DaemonRules;
use crate::config::policy::{API_RULES, unknown_route};

/// The longest text.
const MAX_TEXT: usize = 256 << 10;

/// Rules that a person proposes.
#[derive(Debug, Clone)]
pub struct ProposedPolicy {
    /// All rules that would be in force.
    pub policy: Arc<CompiledPolicy>,
    /// What differs from the rules in force.
    pub differences: Vec<String>,
    /// What lets more calls pass.
    pub weaker: Vec<String>,
    /// The hash of the rules in force, which the differences are about.
    pub base: Digest,
}

impl ProposedPolicy {
    /// Checks the text, its tests and all others.
    pub(super) fn check(text: &str, rules: &DaemonRules) -> Result<ProposedPolicy, String> {
        if text.len() > MAX_TEXT {
            return Err(format!("the rules are longer than {} KiB", MAX_TEXT >> 10));
        }
        let before = &rules.policy;
        let policy = before.with_file(&source(text)).map_err(|errors| errors.to_string())?;
        if let Some(problem) = unknown_route(&policy, |name| rules.is_channel_or_rota(name)) {
            return Err(problem);
        }
        if let Some(failed) = policy.run_cases(&rules.assessment).first() {
            return Err(format!("test {failed}"));
        }
        let (differences, weaker) = (policy.differences(before), policy.weaker_than(before));
        if differences.is_empty() {
            return Err("these rules are in force already".to_owned());
        }
        Ok(ProposedPolicy { policy: Arc::new(policy), differences, weaker, base: before.hash() })
    }
}

/// The text as a file of rules.
pub(super) fn source(text: &str) -> PolicySource {
    PolicySource { file: API_RULES.to_owned(), text: text.to_owned() }
}

/// The file in the state folder.
#[derive(Debug, Default)]
pub struct ApiRulesFile {
    file: OnceLock<PathBuf>,
}

impl ApiRulesFile {
    /// Uses the file in this folder.
    pub(super) fn set_folder(&self, folder: &Path) {
        // The daemon sets it once, at its start.
        let _ = self.file.set(folder.join(API_RULES));
    }

    /// The text; none if there is no file.
    pub(super) fn read(&self) -> io::Result<Option<String>> {
        let file = self.file.get().ok_or(io::ErrorKind::NotFound)?;
        match fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Replaces the text at once, or removes the file.
    pub(super) fn write(&self, text: Option<&str>) -> io::Result<()> {
        let file = self.file.get().ok_or(io::ErrorKind::NotFound)?;
        let Some(text) = text else { return fs::remove_file(file) };
        let next = file.with_extension("new");
        let mut written = File::create(&next)?;
        written.write_all(text.as_bytes())?;
        written.sync_all()?;
        fs::rename(&next, file)
    }
}
