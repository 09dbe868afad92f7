//! The policy rules that people confirmed, in a file with a code that only this daemon can make.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};

use countersign_policy::CompiledPolicy;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

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
    file: PathBuf,
    key: Zeroizing<[u8; 32]>,
    pub(super) requested: RwLock<Option<RequestedPolicy>>,
    /// Whether the confirmed rules are unknown: their file is gone or an older one.
    pub(super) is_unknown: AtomicBool,
}

impl ConfirmedPolicy {
    pub(super) fn at(folder: &Path, keys: &Keys) -> ConfirmedPolicy {
        let (file, key) = (folder.join(FILE), keys.derived("confirmed policy"));
        ConfirmedPolicy {
            file,
            key,
            requested: RwLock::default(),
            is_unknown: AtomicBool::new(false),
        }
    }

    fn code(&self, text: &str) -> Option<Hmac<Sha256>> {
        let mut code = Hmac::<Sha256>::new_from_slice(self.key.as_slice()).ok()?;
        code.update(text.as_bytes());
        Some(code)
    }

    pub(super) fn read(&self) -> Option<CompiledPolicy> {
        let text = fs::read_to_string(&self.file).ok()?;
        let (code, rules) = text.split_once('\n')?;
        let expected = countersign_json::base64::decode(code).ok()?;
        self.code(rules)?.verify_slice(&expected).ok()?;
        CompiledPolicy::from_stored(rules)
    }

    pub(super) fn write(&self, policy: &CompiledPolicy) {
        let rules = policy.to_stored();
        let Some(code) = self.code(&rules) else { return };
        let code = countersign_json::base64::encode(&code.finalize().into_bytes());
        let next = self.file.with_extension("new");
        let written: io::Result<()> = fs::write(&next, format!("{code}\n{rules}"))
            .and_then(|()| fs::rename(&next, &self.file));
        if let Err(error) = written {
            tracing::error!(%error, "the confirmed policy rules were not written down");
        }
    }
}
