//! The registry: names of agents and their addresses.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// An agent's address, and the name that its certificate must have, if one is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAgent {
    /// The address.
    pub url: String,
    /// The name in its certificate.
    pub agent: Option<String>,
}

/// Why an agent has no address.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RegistryError {
    /// Nobody said where it is.
    #[error("Unknown A2A agent '{name}'. Set {variable} or add it to {file}.")]
    Unknown {
        /// The name.
        name: String,
        /// The variable that would name its address.
        variable: String,
        /// The registry.
        file: String,
    },
    /// The file cannot be read.
    #[error("{0}: {1}")]
    File(PathBuf, String),
}

/// The environment variable with an agent's address.
pub fn url_variable(name: &str) -> String {
    let mut key = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            key.push(c.to_ascii_uppercase());
        } else if !key.ends_with('_') {
            key.push('_');
        }
    }
    format!("COUNTERSIGN_A2A_{key}_URL")
}

/// The agents in a registry file; none without a file.
pub fn read_registry(file: &Path) -> Result<Vec<(String, KnownAgent)>, RegistryError> {
    let bad = |why: String| RegistryError::File(file.to_owned(), why);
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(bad(error.to_string())),
    };
    let entries: Map<String, Value> =
        serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    Ok(entries.into_iter().filter_map(|(name, entry)| Some((name, known(&entry)?))).collect())
}

fn known(entry: &Value) -> Option<KnownAgent> {
    let text = |value: Option<&Value>| {
        value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(ToOwned::to_owned)
    };
    if let Some(url) = text(Some(entry)) {
        return Some(KnownAgent { url, agent: None });
    }
    let url = ["url", "base_url", "card_url"].iter().find_map(|name| text(entry.get(*name)))?;
    Some(KnownAgent { url, agent: text(entry.get("agent")) })
}

/// The address of an agent: by the environment, the registry, or the address itself.
pub fn resolve_agent(
    name: &str,
    file: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<KnownAgent, RegistryError> {
    let wanted = url_variable(name);
    let listed = read_registry(file)?.into_iter().find(|(known, _)| known == name);
    let listed = listed.map(|(_, agent)| agent);
    if let Some(url) = variable(&wanted).filter(|url| !url.is_empty()) {
        return Ok(KnownAgent { url, agent: listed.and_then(|agent| agent.agent) });
    }
    if let Some(agent) = listed {
        return Ok(agent);
    }
    if name.starts_with("https://") || name.starts_with("http://") {
        return Ok(KnownAgent { url: name.to_owned(), agent: None });
    }
    let file = file.display().to_string();
    Err(RegistryError::Unknown { name: name.to_owned(), variable: wanted, file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_comes_first_then_the_registry_then_an_address() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a2a_agents.json");
        let none = |_: &str| None;
        let error = resolve_agent("all-egro", &file, none).unwrap_err().to_string();
        assert!(error.contains("COUNTERSIGN_A2A_ALL_EGRO_URL"), "{error}");
        assert!(error.contains("a2a_agents.json"), "{error}");
        let text = r#"{"allegro": {"url": "https://a:1", "agent": "allegro"}, "b": "https://b:2"}"#;
        fs::write(&file, text).unwrap();
        let found = resolve_agent("allegro", &file, none).unwrap();
        assert_eq!((found.url.as_str(), found.agent.as_deref()), ("https://a:1", Some("allegro")));
        assert_eq!(resolve_agent("b", &file, none).unwrap().url, "https://b:2");
        let env = |name: &str| {
            (name == "COUNTERSIGN_A2A_ALLEGRO_URL").then(|| "https://fleet:9443".to_owned())
        };
        let found = resolve_agent("allegro", &file, env).unwrap();
        assert_eq!(found.url, "https://fleet:9443");
        assert_eq!(found.agent.as_deref(), Some("allegro"), "the expected name stays");
        assert_eq!(resolve_agent("https://c:3", &file, none).unwrap().url, "https://c:3");
        fs::write(&file, "[").unwrap();
        assert!(matches!(resolve_agent("b", &file, none), Err(RegistryError::File(..))));
    }
}
