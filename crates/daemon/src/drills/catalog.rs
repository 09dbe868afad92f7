//! The catalog of drills: data, parsed once.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::json;

/// One made-up call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrillTemplate {
    /// The name in the ledger.
    pub name: String,
    /// The tier by the default rules.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares it with the assessment"))]
    pub tier: String,
    command: Option<String>,
    tool: Option<String>,
    arguments: Option<String>,
    /// The description that the agent would have given.
    pub says: String,
    /// The sign that gives the drill away.
    pub noticed: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
    drill: Vec<DrillTemplate>,
}

static CATALOG: LazyLock<Vec<DrillTemplate>> = LazyLock::new(|| {
    let catalog = toml::from_str::<Catalog>(include_str!("drills.toml"));
    catalog.map(|catalog| catalog.drill).unwrap_or_default()
});

/// All templates.
pub fn all() -> &'static [DrillTemplate] {
    &CATALOG
}

/// The template with this name.
pub fn find(name: &str) -> Option<&'static DrillTemplate> {
    CATALOG.iter().find(|drill| drill.name == name)
}

impl DrillTemplate {
    /// The tool, and its arguments as JSON.
    pub fn call(&self) -> (&str, String) {
        match (&self.command, &self.tool, &self.arguments) {
            (Some(command), ..) => ("shell", json!({ "command": command }).to_string()),
            (None, Some(tool), Some(arguments)) => (tool, arguments.clone()),
            _ => ("shell", "{}".to_owned()),
        }
    }
}
