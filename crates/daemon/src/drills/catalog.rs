//! The calls that drills are made of: data, read once.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::json;

/// One made-up call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrillTemplate {
    /// Its name, in the ledger.
    pub name: String,
    /// What the usual rules make of it.
    pub tier: String,
    command: Option<String>,
    tool: Option<String>,
    arguments: Option<String>,
    /// The description that the agent would have given.
    pub says: String,
    /// What one should have noticed.
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

/// All of them.
pub fn all() -> &'static [DrillTemplate] {
    &CATALOG
}

/// One by its name.
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
