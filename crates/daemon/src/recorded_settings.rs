//! What the ledger says about the settings in force. Files beside the store can be deleted or
//! replaced by older ones, so what people confirmed is also in the ledger.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_policy::CompiledPolicy;
use countersign_risk::verdict::Mode;
use countersign_store::{
    Backend, MODE_FACT, NewestEntries, POLICY_FACT, PROJECTS_FACT, SETTINGS_FACT, Store as _,
    StoreError, UNATTENDED_FACT, fact_of,
};
use countersign_types::time::Timestamp;

use crate::config::{DaemonRules, UnattendedSettings};
use crate::freeze::{Freeze, FreezeStage};
use crate::modes::{mode_from_name, mode_name, stricter};

/// What the ledger said about the settings in force when the store was opened.
#[derive(Debug, Clone, Default)]
pub struct RecordedSettings {
    /// The mode in force.
    pub mode: Option<Mode>,
    /// The digest of the policy rules in force.
    pub policy: Option<String>,
    /// The settings by which calls run without a person, as JSON.
    pub unattended: Option<String>,
    /// The digest of the adopted project rules.
    pub projects: Option<String>,
    /// The digests of the adopted texts, by the folder of their project.
    pub adopted: BTreeMap<String, String>,
    /// The requests for a change of the rules that was applied or given up.
    pub settled_changes: BTreeSet<String>,
    /// The digest of the written settings.
    pub written: Option<String>,
    /// The freeze in force.
    pub freeze: Option<Freeze>,
    /// When a person accepted the store last.
    pub acknowledged: Option<Timestamp>,
}

impl RecordedSettings {
    /// Reads them from the newest entries about them.
    pub async fn read(store: &Backend) -> Result<RecordedSettings, StoreError> {
        let newest = store.newest_entries().await?;
        let NewestEntries { mode, policy, projects, unattended, settings, .. } = &newest;
        let NewestEntries { freeze, acknowledge, .. } = &newest;
        let freeze = freeze.as_deref().and_then(|bytes| Entry::decode(bytes).ok());
        let acknowledge = acknowledge.as_deref().and_then(|bytes| Entry::decode(bytes).ok());
        Ok(RecordedSettings {
            // An unknown name counts as the strictest mode.
            mode: fact_of(mode.as_deref(), MODE_FACT)
                .map(|name| mode_from_name(&name).unwrap_or(Mode::Enforce)),
            policy: fact_of(policy.as_deref(), POLICY_FACT),
            unattended: fact_of(unattended.as_deref(), UNATTENDED_FACT),
            projects: fact_of(projects.as_deref(), PROJECTS_FACT),
            adopted: newest.adopted.clone(),
            settled_changes: newest.settled_changes.clone(),
            written: fact_of(settings.as_deref(), SETTINGS_FACT),
            freeze: freeze.as_ref().and_then(freeze_after),
            acknowledged: acknowledge.map(|entry| Timestamp(entry.at)),
        })
    }
}

impl RecordedSettings {
    /// The confirmed mode by a mark, which may be an older one if the checkpoints were deleted as
    /// well; by an invalid mark it is the strictest.
    pub fn confirmed_mode(&self, marked: Option<Mode>) -> Mode {
        let marked = marked.unwrap_or(Mode::Enforce);
        stricter(marked, self.mode.unwrap_or(marked))
    }

    /// Until when approvals have no permit any more, by a mark and by the last acknowledgement.
    pub fn void_until(&self, marked: Option<i64>) -> i64 {
        marked.max(self.acknowledged.map(|at| at.0)).unwrap_or(i64::MIN)
    }
}

/// The facts about a mode in force.
pub fn mode_fact(mode: Mode) -> (Cow<'static, str>, Value<'static>) {
    (MODE_FACT.into(), Value::String(mode_name(mode).into()))
}

/// The fact about policy rules in force.
pub fn policy_fact(policy: &CompiledPolicy) -> (Cow<'static, str>, Value<'static>) {
    (POLICY_FACT.into(), Value::String(policy_digest(policy).into()))
}

/// The fact about the settings by which calls run without a person.
pub fn unattended_fact(rules: &DaemonRules) -> (Cow<'static, str>, Value<'static>) {
    let settings = UnattendedSettings::of(rules).to_json();
    (UNATTENDED_FACT.into(), Value::String(settings.into()))
}

/// The fact about the written settings.
pub fn written_fact(json: &str) -> (Cow<'static, str>, Value<'static>) {
    (SETTINGS_FACT.into(), Value::String(written_digest(json).into()))
}

/// The most bytes of changes in one entry.
const MAX_CHANGES: usize = 16 << 10;

/// The entry with all changes of the written settings, behind further ones if they do not fit.
pub fn with_changes(entry: Entry<'static>, changes: &[String]) -> Vec<Entry<'static>> {
    let (policy, mut parts) = (entry.policy, vec![Vec::new()]);
    let mut bytes = 0;
    for change in changes {
        bytes += change.len();
        if bytes > MAX_CHANGES {
            bytes = change.len();
            parts.push(Vec::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push(Value::String(change.clone().into()));
        }
    }
    let mut entries: Vec<Entry<'static>> =
        parts.iter().skip(1).map(|_| Entry::new(0, EntryKind::Config, policy)).collect();
    entries.push(entry);
    for (entry, part) in entries.iter_mut().zip(parts).filter(|(_, part)| !part.is_empty()) {
        entry.facts.insert(0, ("changes".into(), Value::Array(part)));
    }
    entries
}

/// The digest of rules, of the text that is kept: a new version reads the same rules alike.
pub fn policy_digest(policy: &CompiledPolicy) -> String {
    Digest::of(policy.to_stored().as_bytes()).to_string()
}

/// The digest of written settings.
pub fn written_digest(json: &str) -> String {
    Digest::of(json.as_bytes()).to_string()
}

/// The freeze in force after an entry about one.
fn freeze_after(entry: &Entry<'_>) -> Option<Freeze> {
    let ended = entry.facts.iter().find(|(name, _)| name == "ended");
    let ended = ended.and_then(|(_, ended)| ended.as_str());
    let stage = match entry.kind {
        EntryKind::Frozen => FreezeStage::Frozen,
        EntryKind::Thawed if ended == Some(FreezeStage::Frozen.label()) => {
            FreezeStage::GrantsSuspended
        }
        _ => return None,
    };
    let by = entry.person.as_deref().unwrap_or_default().to_owned();
    Some(Freeze { stage, by, since: Timestamp(entry.at) })
}
