//! The settings as written in the file, one line each, to tell people what changed.

use std::collections::BTreeMap;
use std::fmt;

use countersign_json::canonical::Digest;
use countersign_policy::CompiledPolicy;
use countersign_redact::redact_text;
use countersign_text::sanitize::sanitize_within;

/// The name of the configuration file in messages about its rules.
pub const CONFIG_FILE: &str = "countersign.toml";

/// The most lines about a change; the others are counted.
const MAX_LINES: usize = 20;
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

    /// As JSON, to compare with the next start.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// From JSON; `None` if it cannot be read.
    pub fn from_json(text: &str) -> Option<WrittenSettings> {
        serde_json::from_str(text).ok().map(WrittenSettings)
    }

    /// What is different in the newer settings, one line each.
    pub fn changes(&self, newer: &WrittenSettings) -> Vec<String> {
        let names = self.0.keys().chain(newer.0.keys().filter(|name| !self.0.contains_key(*name)));
        let mut lines = Vec::new();
        for name in names {
            let (old, new) = (self.0.get(name), newer.0.get(name));
            if old != new {
                let value =
                    |text: Option<&String>| text.map_or("default", String::as_str).to_owned();
                lines.push(format!("{name}: {} → {}", value(old), value(new)));
            }
        }
        if let Some(more) = lines.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
            lines.truncate(MAX_LINES);
            lines.push(format!("and {more} more"));
        }
        lines
    }
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
