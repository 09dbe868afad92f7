//! Which calls may run before a person looks at them, from the section `[review]`.

use countersign_risk::effect::{Effect, Effects};
use countersign_risk::paths::class_of;
use countersign_text::glob;
use countersign_types::tier::Tier;
use countersign_types::time::Millis;
use serde::Deserialize;

use super::check::{invalid, number};
use super::error::ConfigError;

/// The longest list of tools or paths.
const MAX_PATTERNS: usize = 100;
/// The classes of paths whose files may be changed first: no secrets, no settings, nothing that
/// runs by itself.
pub(super) const CLASSES: [&str; 3] = ["project", "data", "package-caches"];

/// The review lane, as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewSection {
    pub enabled: Option<bool>,
    pub max_tier: Option<String>,
    pub effects: Option<Vec<String>>,
    pub tools: Vec<String>,
    pub paths: Vec<String>,
    pub path_classes: Option<Vec<String>>,
    pub window_hours: Option<u32>,
    pub max_files: Option<u32>,
    pub max_mib: Option<u32>,
    pub max_open: Option<u32>,
}

/// Which calls may run before a person looks at them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewConfig {
    /// The highest tier: LOW or MEDIUM.
    pub max_tier: Tier,
    /// What they may do to files; they may always read.
    pub effects: Effects,
    /// Patterns of tool names; empty for every tool.
    pub tools: Vec<String>,
    /// Patterns of paths below the project; empty for every path.
    pub paths: Vec<String>,
    /// Classes of paths, of those that hold no secrets and no settings.
    pub path_classes: Vec<&'static str>,
    /// How long a person has time to look.
    pub window: Millis,
    /// The most files and folders of one call.
    pub max_files: u32,
    /// The most bytes of one call.
    pub max_bytes: u64,
    /// The most open reviews of one agent.
    pub max_open: u32,
}

impl ReviewConfig {
    /// Whether calls of this tool may run first.
    pub fn has_tool(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|pattern| glob::matches(pattern, tool))
    }

    /// Whether a path below the project may be changed first.
    pub fn has_path(&self, below: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|pattern| glob::matches(pattern, below))
    }

    /// Whether what is at a path below the project is of a class that may be changed first.
    pub fn has_class(&self, below: &str) -> bool {
        self.path_classes.contains(&class_of(below, None).id)
    }
}

pub fn review(section: ReviewSection) -> Result<Option<ReviewConfig>, ConfigError> {
    let max_tier = match section.max_tier.as_deref().map(str::to_ascii_uppercase).as_deref() {
        None | Some("MEDIUM") => Tier::Medium,
        Some("LOW") => Tier::Low,
        Some(other) => {
            return Err(invalid("review.max_tier", format!("`{other}` is not LOW or MEDIUM")));
        }
    };
    let mut effects = Effects::of(&[Effect::Read]);
    for word in section.effects.unwrap_or_else(|| vec!["write".to_owned(), "delete".to_owned()]) {
        effects.insert(match word.as_str() {
            "write" => Effect::Write,
            "delete" => Effect::Delete,
            other => {
                let problem = format!("`{other}` is not write or delete");
                return Err(invalid("review.effects", problem));
            }
        });
    }
    let hours = number("review.window_hours", section.window_hours, 24, 1..=168)?;
    let review = ReviewConfig {
        max_tier,
        effects,
        tools: patterns("review.tools", section.tools)?,
        paths: patterns("review.paths", section.paths)?,
        path_classes: path_classes(section.path_classes)?,
        window: Millis::from_seconds(hours * 3_600),
        max_files: number("review.max_files", section.max_files, 100, 1..=500)?,
        max_bytes: u64::from(number("review.max_mib", section.max_mib, 8, 1..=32)?) << 20,
        max_open: number("review.max_open", section.max_open, 20, 1..=200)?,
    };
    Ok(section.enabled.unwrap_or(false).then_some(review))
}

fn path_classes(list: Option<Vec<String>>) -> Result<Vec<&'static str>, ConfigError> {
    let Some(list) = list else { return Ok(CLASSES.to_vec()) };
    let known = |word: &String| CLASSES.into_iter().find(|class| class == word).ok_or(word.clone());
    list.iter().map(known).collect::<Result<_, _>>().map_err(|word| {
        invalid("review.path_classes", format!("`{word}` is not {}", CLASSES.join(", ")))
    })
}

fn patterns(field: &'static str, list: Vec<String>) -> Result<Vec<String>, ConfigError> {
    if list.len() > MAX_PATTERNS || list.iter().any(String::is_empty) {
        let problem = format!("must be a list of at most {MAX_PATTERNS} patterns, none empty");
        return Err(invalid(field, problem));
    }
    Ok(list)
}
