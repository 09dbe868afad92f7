//! The settings as written in the file, one line each, to tell people what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use countersign_json::canonical::Digest;
use countersign_policy::CompiledPolicy;
use countersign_redact::redact_text;
use countersign_text::sanitize::sanitize_within;
use countersign_workflow::grant::GrantShape;

use super::whitelist::Whitelist;

/// The name of the configuration file in messages about its rules.
pub const CONFIG_FILE: &str = "countersign.toml";

/// The most lines in an announcement; the others are counted, and the ledger has them all.
const MAX_LINES: usize = 20;
/// What protects the gate, the most important first: these changes are named before all others.
const SENSITIVE: [&str; 13] = [
    "mode",
    "people",
    "quorum",
    "assurance",
    "listen",
    "whitelist",
    "policy",
    "rule",
    "review",
    "learning",
    "judge",
    "assessment",
    "channels",
];
/// The longest value in a line, in bytes.
const MAX_VALUE: usize = 200;

/// The settings of a file by name (`quorum.critical`). The log is no policy and is left out.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct WrittenSettings(BTreeMap<String, String>);

/// They are not part of the hash of the rules, which is made from the debug text: a file that
/// writes a default down changes no rule.
impl fmt::Debug for WrittenSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WrittenSettings")
    }
}

impl WrittenSettings {
    /// The settings in the text of a file; none if it cannot be read.
    pub fn of(text: &str) -> WrittenSettings {
        let mut all = BTreeMap::new();
        if let Ok(table) = toml::from_str::<toml::Table>(text) {
            for (name, value) in table.iter().filter(|(name, _)| *name != "log") {
                flatten(name, value, &mut all);
            }
        }
        WrittenSettings(all)
    }

    /// The same with the rules that are in files of their own, which have a name but no setting.
    #[must_use]
    pub fn with_policy_files(mut self, policy: &CompiledPolicy) -> WrittenSettings {
        for rule in policy.rules().iter().filter(|rule| rule.file != CONFIG_FILE) {
            let hash = Digest::of(rule.text.as_bytes()).to_string();
            let text = format!("{} {}", rule.word(), hash.get(..12).unwrap_or_default());
            self.0.insert(format!("rule {} in {}", rule.name(), rule.file), text);
        }
        self
    }

    /// The same with what the whitelist file lists.
    #[must_use]
    pub fn with_whitelist(mut self, whitelist: &Whitelist) -> WrittenSettings {
        for entry in whitelist.listed.iter().filter(|_| whitelist.file.is_some()) {
            let (what, count) = match &entry.shape {
                GrantShape::Targets { targets, .. } => ("targets", targets.len()),
                _ => ("self_only", 1),
            };
            let action = sanitize_within(&entry.action, MAX_VALUE).text;
            self.0.insert(
                format!("whitelist of {action}, {what}"),
                format!("{count}, {}", entry.id()),
            );
        }
        self
    }

    /// As JSON, to compare with the next start.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// From JSON; `None` if it cannot be read.
    pub fn from_json(text: &str) -> Option<WrittenSettings> {
        serde_json::from_str(text).ok().map(WrittenSettings)
    }

    /// What is different in the newer settings, one line each; what protects the gate comes first.
    pub fn changes(&self, newer: &WrittenSettings) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(newer.0.keys()).collect();
        let mut names: Vec<&String> = names.into_iter().collect();
        names.sort_by_key(|name| sensitivity(name));
        let value = |text: Option<&String>| text.map_or("default", String::as_str).to_owned();
        let changed = names.into_iter().filter(|name| self.0.get(*name) != newer.0.get(*name));
        changed
            .map(|name| {
                let (old, new) = (self.0.get(name), newer.0.get(name));
                format!("{name}: {} → {}", value(old), value(new))
            })
            .collect()
    }
}

/// The place of a setting among the changes.
fn sensitivity(name: &str) -> usize {
    let section = name.split(['.', ' ']).next().unwrap_or(name);
    SENSITIVE.iter().position(|known| *known == section).unwrap_or(SENSITIVE.len())
}

/// The changes for an announcement.
pub fn announced(changes: &[String]) -> String {
    let named = changes.get(..MAX_LINES).unwrap_or(changes);
    let mut text = named.join("; ");
    if changes.len() > named.len() {
        let _ = write!(text, "; and {} more, which the ledger names", changes.len() - named.len());
    }
    text
}

fn flatten(name: &str, value: &toml::Value, all: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                flatten(&format!("{name}.{key}"), value, all);
            }
        }
        value => {
            let text = serde_json::to_string(value).unwrap_or_default();
            let text = redact_text(&text);
            let text = sanitize_within(&text.text, MAX_VALUE).text.into_owned();
            all.insert(sanitize_within(name, MAX_VALUE).text.into_owned(), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many harmless lines must not hide one that matters.
    #[test]
    fn no_change_is_left_out_and_those_that_protect_come_first() {
        let mut text = String::new();
        for number in 0..60 {
            writeln!(text, "[channels.a{number}]\nkind = \"desktop\"\nprogram = \"/x\"").unwrap();
        }
        text += "[people]\nwaiting_seconds = 0\n[flood]\ndenials = 9\n";
        let changes = WrittenSettings::default().changes(&WrittenSettings::of(&text));
        assert_eq!(changes.len(), 122);
        assert_eq!(changes[0], "people.waiting_seconds: default → 0");
        let told = announced(&changes);
        assert!(told.starts_with("people.waiting_seconds: default → 0; "), "{told}");
        assert!(told.ends_with("; and 102 more, which the ledger names"), "{told}");
        assert_eq!(announced(&changes[..2]), changes[..2].join("; "));
    }

    #[test]
    fn every_change_is_named_with_both_values() {
        let old = WrittenSettings::of("mode = \"enforce\"\n[quorum]\ncritical = 2\n");
        let new =
            WrittenSettings::of("[quorum]\ncritical = 1\nhigh = 1\n[log]\nlevel = \"warn\"\n");
        assert_eq!(
            old.changes(&new),
            ["mode: \"enforce\" → default", "quorum.critical: 2 → 1", "quorum.high: default → 1",]
        );
        assert!(old.changes(&old).is_empty());
        assert_eq!(WrittenSettings::from_json(&old.to_json()), Some(old));
    }
}
