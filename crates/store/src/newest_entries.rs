//! The newest entries about what is in force: mode, policy rules, freeze, acknowledgement; and all
//! entries about certificates.

use std::collections::{BTreeMap, BTreeSet};

use countersign_ledger::entry::{Entry, EntryKind};

/// The fact of an entry about the configuration that names the mode in force.
pub const MODE_FACT: &str = "mode";
/// The fact of an entry about the configuration that names the policy rules in force.
pub const POLICY_FACT: &str = "policy_rules";
/// The fact of an entry about the configuration that names the adopted project rules.
pub const PROJECTS_FACT: &str = "project_rules";
/// The fact of an entry about the configuration that names the folder of an adopted project.
pub const ADOPTED_FACT: &str = "adopted_project";
/// The fact of the same entry that names the adopted text.
pub const FILE_DIGEST_FACT: &str = "file_digest";
/// The fact of an entry about the configuration that names a folder whose adoption was revoked.
pub const UNADOPTED_FACT: &str = "revoked_project";
/// The fact of an entry about the configuration that names the request which asked for it.
pub const BY_REQUEST_FACT: &str = "by_request";
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
    /// The digests of the adopted texts, by the folder of their project.
    pub adopted: BTreeMap<String, String>,
    /// The requests for a change of the configuration that was applied or given up.
    pub settled_changes: BTreeSet<String>,
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
                    self.note_adoption(entry);
                }
                if let Some(request) = text(entry, BY_REQUEST_FACT) {
                    self.settled_changes.insert(request.to_owned());
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

    fn note_adoption(&mut self, entry: &Entry<'_>) {
        if let Some(folder) = text(entry, UNADOPTED_FACT) {
            self.adopted.remove(folder);
        }
        if let Some(folder) = text(entry, ADOPTED_FACT) {
            let digest = text(entry, FILE_DIGEST_FACT).unwrap_or_default();
            self.adopted.insert(folder.to_owned(), digest.to_owned());
        }
    }
}

fn text<'a>(entry: &'a Entry<'_>, name: &str) -> Option<&'a str> {
    entry.facts.iter().find(|(known, _)| known == name)?.1.as_str()
}

/// The text of a fact of an encoded entry.
pub fn fact_of(entry: Option<&[u8]>, name: &str) -> Option<String> {
    let entry = Entry::decode(entry?).ok()?;
    text(&entry, name).map(str::to_owned)
}
