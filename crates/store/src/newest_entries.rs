//! The newest entries about what is in force: mode, policy rules, freeze, acknowledgement; and all
//! entries about certificates.

use countersign_ledger::entry::{Entry, EntryKind};

/// The fact of an entry about the configuration that names the mode in force.
pub const MODE_FACT: &str = "mode";
/// The fact of an entry about the configuration that names the policy rules in force.
pub const POLICY_FACT: &str = "policy_rules";
/// The fact of an entry about the configuration that names the adopted project rules.
pub const PROJECTS_FACT: &str = "project_rules";
/// The fact of an entry about a start that names the settings of its configuration.
pub const SETTINGS_FACT: &str = "settings";

/// The fact of an entry about the configuration with the settings in force by which calls run
/// without a person.
pub const UNATTENDED_FACT: &str = "unattended";

/// The newest entries about what is in force, encoded, as they were when the store was opened.
/// Files beside the store can be deleted or replaced by older ones; these entries cannot, because
/// the ledger continues its signed tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewestEntries {
    /// The mode in force.
    pub mode: Option<Vec<u8>>,
    /// The policy rules in force.
    pub policy: Option<Vec<u8>>,
    /// The settings in force by which calls run without a person.
    pub unattended: Option<Vec<u8>>,
    /// The adopted project rules.
    pub projects: Option<Vec<u8>>,
    /// The settings of a start.
    pub settings: Option<Vec<u8>>,
    /// A freeze or a thaw.
    pub freeze: Option<Vec<u8>>,
    /// A person accepted the store.
    pub acknowledge: Option<Vec<u8>>,
    /// All entries that say which certificates of the fleet are valid, oldest first.
    pub certificates: Vec<Vec<u8>>,
}

impl NewestEntries {
    /// The kinds of these entries.
    pub(crate) const KINDS: [EntryKind; 6] = [
        EntryKind::Certificate,
        EntryKind::Config,
        EntryKind::Start,
        EntryKind::Frozen,
        EntryKind::Thawed,
        EntryKind::Acknowledge,
    ];

    /// Notes an entry that is newer than all before it.
    pub(crate) fn note(&mut self, entry: &Entry<'_>, bytes: &[u8]) {
        let has = |name: &str| entry.facts.iter().any(|(known, _)| known == name);
        let newest = || Some(bytes.to_vec());
        match entry.kind {
            EntryKind::Config => {
                if has(MODE_FACT) {
                    self.mode = newest();
                }
                if has(POLICY_FACT) {
                    self.policy = newest();
                }
                if has(UNATTENDED_FACT) {
                    self.unattended = newest();
                }
                if has(PROJECTS_FACT) {
                    self.projects = newest();
                }
                if has(SETTINGS_FACT) {
                    self.settings = newest();
                }
            }
            EntryKind::Start if has(SETTINGS_FACT) => self.settings = newest(),
            EntryKind::Frozen | EntryKind::Thawed => self.freeze = newest(),
            EntryKind::Acknowledge => {
                self.acknowledge = newest();
                self.certificates.push(bytes.to_vec());
            }
            EntryKind::Certificate => self.certificates.push(bytes.to_vec()),
            _ => {}
        }
    }
}

/// The text of a fact of an encoded entry.
pub fn fact_of(entry: Option<&[u8]>, name: &str) -> Option<String> {
    let entry = Entry::decode(entry?).ok()?;
    let (_, value) = entry.facts.iter().find(|(known, _)| known == name)?;
    value.as_str().map(str::to_owned)
}
