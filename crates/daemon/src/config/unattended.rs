//! The settings by which calls run without a person (`[review]` and `[learning]`), and those that
//! protect the gate. The file can tighten them at once; what is wider waits for a person.

use countersign_risk::effect::{Effect, Effects};
use countersign_types::tier::Tier;
use countersign_types::time::Millis;
use serde_json::{Value, json};

use super::learning::LearningConfig;
use super::model::DaemonRules;
use super::review::{CLASSES, ReviewConfig};
use super::safeguards::Safeguards;

/// What may run without a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnattendedSettings {
    /// Which calls run before a person looks at them, if any.
    pub review: Option<ReviewConfig>,
    /// What is learned from approvals.
    pub learning: LearningConfig,
    /// What protects the gate; none in a ledger of before it was kept there.
    pub safeguards: Option<Box<Safeguards>>,
}

impl UnattendedSettings {
    /// The settings of these rules.
    pub fn of(rules: &DaemonRules) -> UnattendedSettings {
        let (review, learning) = (rules.review.clone(), rules.learning);
        UnattendedSettings { review, learning, safeguards: Some(Box::new(Safeguards::of(rules))) }
    }

    /// What holds if the ledger cannot say what was confirmed: nothing is switched on, and nothing
    /// protects the gate less than in a file without settings.
    pub fn strictest() -> UnattendedSettings {
        UnattendedSettings { safeguards: Some(Box::default()), ..UnattendedSettings::default() }
    }

    /// What lets more calls run without a person, or protects the gate less, than `before`; empty
    /// if nothing does.
    pub fn wider_than(&self, before: &UnattendedSettings) -> Vec<String> {
        let mut changes = Vec::new();
        match (&self.review, &before.review) {
            (None, _) => {}
            (Some(new), None) => {
                changes.push(format!("[review] is switched on: {}", review_json(new)));
            }
            (Some(new), Some(old)) => review_changes(new, old, &mut changes),
        }
        let (new, old) = (&self.learning, &before.learning);
        if new.automatic && !old.automatic {
            changes.push("[learning] automatic is switched on".to_owned());
        }
        if new.automatic && old.automatic && new.approvals < old.approvals {
            changes.push(format!("[learning] approvals: {} → {}", old.approvals, new.approvals));
        }
        if new.automatic && old.automatic && new.days > old.days {
            changes.push(format!("[learning] days: {} → {}", old.days, new.days));
        }
        if let (Some(new), Some(old)) = (&self.safeguards, &before.safeguards) {
            changes.extend(new.weaker_than(old));
        }
        changes
    }

    /// These settings, without what lets more calls run without a person, or protects the gate
    /// less, than `before`.
    #[must_use]
    pub fn narrowed_to(&self, before: &UnattendedSettings) -> UnattendedSettings {
        let review = self.review.as_ref().zip(before.review.as_ref());
        let review = review.and_then(|(new, old)| narrower_review(new, old));
        let (new, old) = (self.learning, before.learning);
        let learning = LearningConfig {
            automatic: new.automatic && old.automatic,
            approvals: if new.automatic { new.approvals.max(old.approvals) } else { new.approvals },
            days: if new.automatic { new.days.min(old.days) } else { new.days },
        };
        let safeguards = match (&self.safeguards, &before.safeguards) {
            (Some(new), Some(old)) => Some(Box::new(new.narrowed_to(old))),
            (new, old) => new.clone().or_else(|| old.clone()),
        };
        UnattendedSettings { review, learning, safeguards }
    }

    /// As JSON, for the ledger.
    pub fn to_json(&self) -> String {
        let review = self.review.as_ref().map(review_json);
        let LearningConfig { approvals, automatic, days } = self.learning;
        let learning = json!({ "approvals": approvals, "automatic": automatic, "days": days });
        let safeguards = self.safeguards.as_ref().map(|safeguards| safeguards.to_json());
        json!({ "review": review, "learning": learning, "safeguards": safeguards }).to_string()
    }

    /// From the JSON of the ledger; none if it is not valid.
    pub fn from_json(text: &str) -> Option<UnattendedSettings> {
        let value: Value = serde_json::from_str(text).ok()?;
        let review = match value.get("review")? {
            Value::Null => None,
            review => Some(read_review(review)?),
        };
        let learning = value.get("learning")?;
        let number = |name: &str| u32::try_from(learning.get(name)?.as_u64()?).ok();
        let learning = LearningConfig {
            approvals: number("approvals")?,
            automatic: learning.get("automatic")?.as_bool()?,
            days: number("days")?,
        };
        let safeguards = match value.get("safeguards") {
            None | Some(Value::Null) => None,
            Some(safeguards) => Some(Box::new(Safeguards::from_json(safeguards)?)),
        };
        Some(UnattendedSettings { review, learning, safeguards })
    }
}

fn review_json(review: &ReviewConfig) -> Value {
    json!({
        "max_tier": review.max_tier.label(),
        "write": review.effects.has(Effect::Write),
        "delete": review.effects.has(Effect::Delete),
        "tools": review.tools,
        "paths": review.paths,
        "path_classes": review.path_classes,
        "window_ms": review.window.0,
        "max_files": review.max_files,
        "max_bytes": review.max_bytes,
        "max_open": review.max_open,
    })
}

fn review_changes(new: &ReviewConfig, old: &ReviewConfig, changes: &mut Vec<String>) {
    let (before, after) = (review_json(old), review_json(new));
    let mut add = |is_wider: bool, what: &str| {
        if is_wider {
            let names: &[&str] = match what {
                "effects" => &["write", "delete"],
                "window_hours" => &["window_ms"],
                "max_mib" => &["max_bytes"],
                _ => &[what],
            };
            let value = |all: &Value, name: &str| all.get(name).cloned().unwrap_or_default();
            let changed =
                |name: &&str| format!("{name} {} → {}", value(&before, name), value(&after, name));
            let values: Vec<String> = names.iter().map(changed).collect();
            let values = values.join(", ");
            changes.push(format!("[review] {what} lets more calls run first ({values})"));
        }
    };
    // An empty list stands for everything.
    let more = |new: &[String], old: &[String]| {
        !old.is_empty() && (new.is_empty() || new.iter().any(|pattern| !old.contains(pattern)))
    };
    add(new.max_tier > old.max_tier, "max_tier");
    add(!new.effects.without(old.effects).is_empty(), "effects");
    add(more(&new.tools, &old.tools), "tools");
    add(more(&new.paths, &old.paths), "paths");
    add(new.path_classes.iter().any(|class| !old.path_classes.contains(class)), "path_classes");
    add(new.window.0 < old.window.0, "window_hours");
    add(new.max_files > old.max_files, "max_files");
    add(new.max_bytes > old.max_bytes, "max_mib");
    add(new.max_open > old.max_open, "max_open");
}

/// What both let run first; none if they agree on nothing.
fn narrower_review(new: &ReviewConfig, old: &ReviewConfig) -> Option<ReviewConfig> {
    // An empty list stands for everything, so lists without a common pattern allow nothing.
    let both = |new: &[String], old: &[String]| -> Option<Vec<String>> {
        if old.is_empty() || new.is_empty() {
            return Some(if old.is_empty() { new.to_vec() } else { old.to_vec() });
        }
        let common = new.iter().filter(|pattern| old.contains(pattern)).cloned();
        Some(common.collect::<Vec<String>>()).filter(|common| !common.is_empty())
    };
    let classes = new.path_classes.iter().filter(|class| old.path_classes.contains(class));
    Some(ReviewConfig {
        max_tier: new.max_tier.min(old.max_tier),
        effects: new.effects.without(new.effects.without(old.effects)),
        tools: both(&new.tools, &old.tools)?,
        paths: both(&new.paths, &old.paths)?,
        path_classes: classes.copied().collect(),
        window: Millis(new.window.0.max(old.window.0)),
        max_files: new.max_files.min(old.max_files),
        max_bytes: new.max_bytes.min(old.max_bytes),
        max_open: new.max_open.min(old.max_open),
    })
}

fn read_review(value: &Value) -> Option<ReviewConfig> {
    let texts = |name: &str| -> Option<Vec<String>> {
        let list = value.get(name)?.as_array()?.iter();
        list.map(|text| text.as_str().map(ToOwned::to_owned)).collect()
    };
    let number = |name: &str| u32::try_from(value.get(name)?.as_u64()?).ok();
    let mut effects = Effects::of(&[Effect::Read]);
    for (name, effect) in [("write", Effect::Write), ("delete", Effect::Delete)] {
        if value.get(name)?.as_bool()? {
            effects.insert(effect);
        }
    }
    let known = |name: &String| CLASSES.into_iter().find(|class| class == name);
    Some(ReviewConfig {
        max_tier: Tier::parse(value.get("max_tier")?.as_str()?)?,
        effects,
        tools: texts("tools")?,
        paths: texts("paths")?,
        path_classes: texts("path_classes")?.iter().map(known).collect::<Option<_>>()?,
        window: Millis(value.get("window_ms")?.as_u64()?),
        max_files: number("max_files")?,
        max_bytes: value.get("max_bytes")?.as_u64()?,
        max_open: number("max_open")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DaemonConfig, Paths};

    fn settings(text: &str) -> UnattendedSettings {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let paths = Paths { config: path.into(), state: path.into(), runtime: path.into() };
        UnattendedSettings::of(&DaemonConfig::read(text, &paths).unwrap().rules)
    }

    const SOME: &str = "[review]\nenabled = true\nmax_tier = \"LOW\"\neffects = [\"write\"]\n\
        tools = [\"edit\"]\npaths = [\"src/*\"]\npath_classes = [\"project\"]\nmax_files = 5\n\
        max_mib = 2\nmax_open = 3\n[learning]\nautomatic = true\napprovals = 9\ndays = 2\n";

    #[test]
    fn the_ledger_keeps_every_setting() {
        for text in ["", SOME, "[review]\nenabled = true\n"] {
            let before = settings(text);
            assert_eq!(UnattendedSettings::from_json(&before.to_json()), Some(before));
        }
        assert_eq!(UnattendedSettings::from_json("{}"), None);
    }

    #[test]
    fn each_wider_setting_is_named_and_a_tighter_one_is_not() {
        let (none, some) = (settings(""), settings(SOME));
        assert_eq!(some.wider_than(&none).len(), 2);
        assert!(none.wider_than(&some).is_empty() && some.wider_than(&some).is_empty());
        for (old, new) in [
            ("max_tier = \"LOW\"", "max_tier = \"MEDIUM\""),
            ("effects = [\"write\"]", "effects = [\"write\", \"delete\"]"),
            ("tools = [\"edit\"]", "tools = [\"edit\", \"bash\"]"),
            ("tools = [\"edit\"]", "tools = []"),
            ("paths = [\"src/*\"]", "paths = [\"*\"]"),
            ("path_classes = [\"project\"]", "path_classes = [\"project\", \"data\"]"),
            ("max_files = 5", "max_files = 6"),
            ("max_files = 5", "max_files = 5\nwindow_hours = 1"),
            ("max_mib = 2", "max_mib = 3"),
            ("max_open = 3", "max_open = 4"),
            ("approvals = 9", "approvals = 8"),
            ("days = 2", "days = 3"),
        ] {
            let wider = settings(&SOME.replace(old, new));
            assert_eq!(wider.wider_than(&some).len(), 1, "{new}");
            assert!(some.wider_than(&wider).is_empty() || new.contains("paths"), "{new}");
        }
    }

    #[test]
    fn what_both_files_allow_is_no_wider_than_either() {
        let texts = [
            String::new(),
            SOME.to_owned(),
            SOME.replace("\"edit\"", "\"edit\", \"bash\"")
                .replace("max_files = 5", "max_files = 2"),
            SOME.replace("\"edit\"", "\"bash\"").replace("max_open = 3", "max_open = 9"),
            SOME.replace("tools = [\"edit\"]", "tools = []")
                .replace("approvals = 9", "approvals = 5"),
            SOME.replace("automatic = true", "automatic = false").replace("LOW", "MEDIUM"),
            SOME.replace("[\"write\"]", "[\"delete\"]").replace("days = 2", "days = 1"),
            SOME.replace("max_mib = 2", "max_mib = 9\nwindow_hours = 2"),
        ];
        let all: Vec<UnattendedSettings> = texts.iter().map(|text| settings(text)).collect();
        for (new, old) in all.iter().flat_map(|new| all.iter().map(move |old| (new, old))) {
            let both = new.narrowed_to(old);
            assert!(both.wider_than(old).is_empty(), "{both:?} {old:?}");
            assert!(both.wider_than(new).is_empty(), "{both:?} {new:?}");
            if new.wider_than(old).is_empty() {
                assert_eq!(both, *new, "tighter settings are in force as they are");
            }
        }
    }
}
