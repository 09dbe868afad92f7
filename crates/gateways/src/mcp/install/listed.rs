//! The servers in a client's files, and whether each is behind the proxy.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, TableLike};

use super::format_of;
use super::proxy_words::unwrapped;
use crate::install::json::{JsonDocument, JsonSyntax};
use crate::install::{InstallScope, McpClient, McpFileFormat, PatchError};

/// One server in a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedServer {
    /// Its name in the file.
    pub name: String,
    /// How the client reaches it.
    pub reached: ServerAccess,
    /// The variables that the file sets for it.
    pub variables: Vec<(String, String)>,
}

/// How a client reaches a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAccess {
    /// Through the proxy: the words that start the proxy, up to and with `--`.
    Proxy(Vec<String>),
    /// The client starts the server itself.
    Command,
    /// At a URL.
    Url(String),
}

/// A file with its servers, or why it cannot be read.
pub type File = (PathBuf, Result<Vec<ListedServer>, PatchError>);

impl McpClient {
    /// The servers in its files.
    pub fn listed(&self, scope: &InstallScope) -> Vec<File> {
        let listed = |path: PathBuf| {
            let found = text(&path).and_then(|text| self.format.listed(&text));
            (path, found)
        };
        self.files(scope).into_iter().map(listed).collect()
    }
}

/// The servers in a file that the operator named.
pub fn listed_in(path: &Path) -> Result<Vec<ListedServer>, PatchError> {
    let text = text(path)?;
    format_of(path, &text).listed(&text)
}

fn text(path: &Path) -> Result<String, PatchError> {
    fs::read_to_string(path).map_err(|error| PatchError(error.to_string()))
}

impl McpFileFormat {
    fn listed(self, text: &str) -> Result<Vec<ListedServer>, PatchError> {
        let (under, syntax) = match self {
            McpFileFormat::Json { under, syntax, .. } => (under, syntax),
            McpFileFormat::CommandList => ("mcp", JsonSyntax::Comments),
            McpFileFormat::Toml => {
                let read = text.parse::<DocumentMut>();
                let read = read.map_err(|error| PatchError(error.to_string()))?;
                let servers = read.get("mcp_servers").and_then(Item::as_table_like);
                return Ok(servers.map(table).iter().flat_map(entries).collect());
            }
        };
        let servers = JsonDocument::open(text, syntax)?.at(&[under]);
        let servers = servers.as_ref().and_then(Value::as_object);
        Ok(servers.into_iter().flat_map(entries).collect())
    }
}

fn entries(servers: &Map<String, Value>) -> impl Iterator<Item = ListedServer> {
    servers.iter().filter_map(|(name, server)| entry(name, server))
}

/// One entry; nothing if it is disabled or not a server.
fn entry(name: &str, server: &Value) -> Option<ListedServer> {
    let says = |name: &str, truth: bool| server.get(name).and_then(Value::as_bool) == Some(truth);
    if says("disabled", true) || says("enabled", false) {
        return None;
    }
    let words: Vec<String> = match server.get("command") {
        Some(Value::String(program)) => {
            let rest = server.get("args").map(strings).unwrap_or_default();
            std::iter::once(program.clone()).chain(rest).collect()
        }
        Some(list) => strings(list),
        None => Vec::new(),
    };
    let urls = ["url", "httpUrl", "serverUrl"];
    let url = urls.iter().find_map(|name| server.get(*name).and_then(Value::as_str));
    let reached = match (unwrapped(&words), url) {
        (Some(server), _) => {
            let ours = words.len().saturating_sub(server.len());
            ServerAccess::Proxy(words.into_iter().take(ours).collect())
        }
        (None, _) if !words.is_empty() => ServerAccess::Command,
        (None, Some(url)) => ServerAccess::Url(url.to_owned()),
        (None, None) => return None,
    };
    let variables = server.get("env").or_else(|| server.get("environment"));
    let variables = variables.and_then(Value::as_object).into_iter().flatten();
    let variables = variables
        .filter_map(|(name, value)| value.as_str().map(|value| (name.clone(), value.to_owned())));
    Some(ListedServer { name: name.to_owned(), reached, variables: variables.collect() })
}

fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str().map(ToOwned::to_owned)).collect()
}

/// A TOML table as JSON, as far as entries need it.
fn table(table: &dyn TableLike) -> Map<String, Value> {
    table.iter().map(|(name, item)| (name.to_owned(), value(item))).collect()
}

fn value(item: &Item) -> Value {
    if let Some(inside) = item.as_table_like() {
        return Value::Object(table(inside));
    }
    if let Some(list) = item.as_array() {
        let texts = list.iter().filter_map(toml_edit::Value::as_str);
        return texts.map(Value::from).collect();
    }
    let text = item.as_str().map(Value::from);
    text.or_else(|| item.as_bool().map(Value::from)).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::super::{ProxyCommand, Servers};
    use super::*;
    use crate::agents;
    use crate::install::{McpTimeoutField, Patch as _};

    fn found(listed: &[ListedServer], name: &str) -> ServerAccess {
        listed.iter().find(|server| server.name == name).unwrap().reached.clone()
    }

    #[test]
    fn servers_behind_the_proxy_are_recognized_in_every_format() {
        for client in agents::mcp_clients() {
            let text = match client.format {
                McpFileFormat::Toml => "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"y\"]\n\
                               env = { COUNTERSIGN_AGENTS = \"z\" }\n"
                    .to_owned(),
                McpFileFormat::CommandList => r#"{"mcp": {"a": {"command": ["x", "y"],
                    "environment": {"COUNTERSIGN_AGENTS": "z"}}}}"#
                    .to_owned(),
                McpFileFormat::Json { under, .. } => format!(
                    r#"{{"{under}": {{"a": {{"command": "x", "args": ["y"],
                    "env": {{"COUNTERSIGN_AGENTS": "z"}}}}}}}}"#
                ),
            };
            let bare = client.format.listed(&text).unwrap();
            assert_eq!(found(&bare, "a"), ServerAccess::Command, "{}", client.name);
            let variables = vec![("COUNTERSIGN_AGENTS".to_owned(), "z".to_owned())];
            assert_eq!(bare.first().unwrap().variables, variables, "{}", client.name);
            let program = "/usr/bin/countersign".to_owned();
            let proxy = ProxyCommand { program, agents: None, daemon_key: None };
            let put = Servers::new(client.format, &proxy).apply(&text).unwrap();
            let ServerAccess::Proxy(words) = found(&client.format.listed(&put).unwrap(), "a")
            else {
                panic!("{}: {put}", client.name)
            };
            let (first, last) = (words.first().unwrap(), words.last().unwrap());
            assert_eq!((first.as_str(), last.as_str()), ("/usr/bin/countersign", "--"), "{put}");
            assert!(words.iter().any(|word| word == "a"), "{words:?}");
        }
    }

    #[test]
    fn urls_are_listed_and_disabled_servers_are_not() {
        let text = r#"{"mcpServers": {
            "far": {"url": "https://example.org/mcp"}, "near": {"httpUrl": "http://127.0.0.1:1/"},
            "off": {"command": "x", "disabled": true}, "odd": {"note": 1}
        }}"#;
        let listed =
            McpFileFormat::mcp_servers(JsonSyntax::Strict, McpTimeoutField::None).listed(text);
        let listed = listed.unwrap();
        assert_eq!(listed.len(), 2, "{listed:?}");
        assert_eq!(found(&listed, "near"), ServerAccess::Url("http://127.0.0.1:1/".to_owned()));
        assert!(McpFileFormat::Toml.listed("mcp_servers = 1").unwrap().is_empty());
        assert!(McpFileFormat::Toml.listed("=").is_err());
    }
}
