//! Puts the servers of a client's configuration behind the proxy, and restores them.

pub mod listed;
mod proxy_words;

use std::path::{Path, PathBuf};

use jsonc_parser::cst::CstObject;
use proxy_words::{unwrapped, with_option};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, value};

use crate::install::json::{JsonDocument, JsonItem, JsonSyntax};
use crate::install::{
    FileEdit, InstallScope, McpClient, McpFileFormat, McpTimeoutField, Patch, PatchError,
};

/// The time limit for a call that is written into a client's file, in seconds.
const CLIENT_WAITS: u32 = 86_400;
/// How long the proxy then waits: it must answer before the client gives up.
const PATIENCE: u32 = CLIENT_WAITS - 300;

impl McpClient {
    /// The edits of its files that exist.
    pub fn file_edits(&self, scope: &InstallScope, proxy: &ProxyCommand) -> Vec<FileEdit> {
        let edit = |path| FileEdit::part(path, Servers::new(self.format, proxy));
        self.files(scope).into_iter().map(edit).collect()
    }

    fn files(&self, scope: &InstallScope) -> Vec<PathBuf> {
        let (folder, names) = match scope.project() {
            Some(project) => (project, self.project),
            None => (scope.home(), self.home),
        };
        names.iter().map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
    }
}

/// How clients start the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyCommand {
    /// The program.
    pub program: String,
    /// The daemon's address. Clients start servers without the variables that say where the
    /// daemon's socket is.
    pub agents: Option<String>,
    /// The file with the daemon's public key.
    pub daemon_key: Option<String>,
}

/// The edit of a file that the operator named.
pub fn named(path: &Path, text: &str, proxy: &ProxyCommand) -> FileEdit {
    FileEdit::part(PathBuf::from(path), Servers::new(format_of(path, text), proxy))
}

/// The format of a file, by its extension and content.
fn format_of(path: &Path, text: &str) -> McpFileFormat {
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    let under = |name: &str| JsonDocument::open(text, JsonSyntax::Json5).ok()?.at(&[name]);
    if is_toml {
        McpFileFormat::Toml
    } else if under("mcpServers").is_some() {
        McpFileFormat::mcp_servers(JsonSyntax::Json5, McpTimeoutField::None)
    } else if under("mcp").is_some() {
        McpFileFormat::CommandList
    } else {
        McpFileFormat::Json {
            under: "servers",
            syntax: JsonSyntax::Json5,
            timeout: McpTimeoutField::None,
        }
    }
}

/// The servers of one file.
struct Servers {
    format: McpFileFormat,
    proxy: ProxyCommand,
}

impl Servers {
    fn new(format: McpFileFormat, proxy: &ProxyCommand) -> Servers {
        Servers { format, proxy: proxy.clone() }
    }

    /// The words that start a server behind the proxy; nothing if they are the same as before.
    /// `finds_daemon` says whether the entry's own variables say where the daemon is.
    fn wrapped(&self, name: &str, words: &[String], finds_daemon: bool) -> Option<Vec<String>> {
        if words.is_empty() {
            return None;
        }
        let ProxyCommand { agents, daemon_key, .. } = &self.proxy;
        let options = [("--agents", agents), ("--daemon-key", daemon_key)];
        let options = options.map(|(name, value)| (name, value.as_deref()));
        let options: Vec<(&str, &str)> = options
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.filter(|_| !finds_daemon)?)))
            .collect();
        if let Some(server) = unwrapped(words) {
            let all = options.iter().fold(words.to_vec(), |all, (name, value)| {
                let ours = all.len() - server.len();
                with_option(&all, ours, name, value).unwrap_or(all)
            });
            return (all != words).then_some(all);
        }
        let mut all = vec![self.proxy.program.clone(), "mcp".to_owned()];
        all.extend(["--server".to_owned(), name.to_owned()]);
        for (name, value) in options {
            all.extend([name.to_owned(), value.to_owned()]);
        }
        if self.can_wait() {
            all.extend(["--patience".to_owned(), PATIENCE.to_string()]);
        }
        all.push("--".to_owned());
        all.extend(words.iter().cloned());
        Some(all)
    }

    fn can_wait(&self) -> bool {
        matches!(
            self.format,
            McpFileFormat::Toml
                | McpFileFormat::Json { timeout: McpTimeoutField::Milliseconds, .. }
        )
    }

    fn edit(&self, text: &str, put: bool) -> Result<String, PatchError> {
        match self.format {
            McpFileFormat::Toml => self.edit_toml(text, put),
            McpFileFormat::Json { under, syntax, .. } => self.edit_json(text, under, syntax, put),
            McpFileFormat::CommandList => self.edit_json(text, "mcp", JsonSyntax::Comments, put),
        }
    }

    fn edit_json(
        &self,
        text: &str,
        under: &str,
        syntax: JsonSyntax,
        put: bool,
    ) -> Result<String, PatchError> {
        let document = JsonDocument::open(text, syntax)?;
        let Some(servers) = document.top.object_value(under) else { return Ok(text.to_owned()) };
        let mut changed = false;
        for member in servers.properties() {
            let (Some(name), Some(server)) = (member.decoded_name(), member.object_value()) else {
                continue;
            };
            let words = self.words(&server);
            let new = if put {
                self.wrapped(&name, &words, finds_daemon(&server))
            } else {
                unwrapped(&words)
            };
            let Some(new) = new else { continue };
            changed = true;
            self.write(&server, &new);
            self.wait(&server, put);
        }
        // A file without changes keeps every byte.
        Ok(if changed { document.text() } else { text.to_owned() })
    }

    fn words(&self, server: &CstObject) -> Vec<String> {
        let found = server.to_serde_value().unwrap_or_default();
        let list = |value: &Value| -> Vec<String> {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            items.iter().filter_map(|item| item.as_str().map(ToOwned::to_owned)).collect()
        };
        if self.format == McpFileFormat::CommandList {
            return found.get("command").map(list).unwrap_or_default();
        }
        let Some(command) = found.get("command").and_then(Value::as_str) else {
            return Vec::new();
        };
        let mut words = vec![command.to_owned()];
        words.extend(found.get("args").map(list).unwrap_or_default());
        words
    }

    fn write(&self, server: &CstObject, words: &[String]) {
        let list = |words: &[String]| {
            JsonItem::Array(words.iter().map(|word| JsonItem::String(word.clone())).collect())
        };
        let set = |name: &str, item: JsonItem| match server.get(name) {
            Some(member) => member.set_value(item),
            None => drop(server.append(name, item)),
        };
        if self.format == McpFileFormat::CommandList {
            return set("command", list(words));
        }
        let (program, rest) = words.split_first().map_or(("", &[][..]), |(a, b)| (a.as_str(), b));
        set("command", JsonItem::String(program.to_owned()));
        set("args", list(rest));
    }

    /// Sets or removes the time limit of a call, unless the file has another one.
    fn wait(&self, server: &CstObject, put: bool) {
        if !self.can_wait() {
            return;
        }
        let ours = u64::from(CLIENT_WAITS) * 1000;
        let said = server.get("timeout");
        let is_ours = said.as_ref().and_then(|member| member.value()?.to_serde_value());
        let is_ours = is_ours.is_some_and(|value| value.as_u64() == Some(ours));
        match (put, said) {
            (true, None) => drop(server.append("timeout", JsonItem::Number(ours.to_string()))),
            (false, Some(member)) if is_ours => member.remove(),
            _ => {}
        }
    }

    fn edit_toml(&self, text: &str, put: bool) -> Result<String, PatchError> {
        let read = text.parse::<DocumentMut>();
        let mut document = read.map_err(|error| PatchError(error.to_string()))?;
        let servers = document.get_mut("mcp_servers").and_then(toml_edit::Item::as_table_like_mut);
        let Some(servers) = servers else { return Ok(text.to_owned()) };
        let mut changed = false;
        for (name, server) in servers.iter_mut() {
            let Some(server) = server.as_table_like_mut() else { continue };
            let Some(command) = server.get("command").and_then(toml_edit::Item::as_str) else {
                continue;
            };
            let mut words = vec![command.to_owned()];
            let args = server.get("args").and_then(toml_edit::Item::as_array);
            let args = args.into_iter().flatten().filter_map(|arg| arg.as_str());
            words.extend(args.map(ToOwned::to_owned));
            let variables = server.get("env").and_then(toml_edit::Item::as_table_like);
            let is_set = |name: &str| variables.is_some_and(|table| table.contains_key(name));
            let new = if put {
                self.wrapped(&name, &words, DAEMON_VARIABLES.iter().any(|name| is_set(name)))
            } else {
                unwrapped(&words)
            };
            let Some((program, rest)) = new.as_deref().and_then(<[String]>::split_first) else {
                continue;
            };
            changed = true;
            server.insert("command", value(program.as_str()));
            server.insert("args", value(rest.iter().map(String::as_str).collect::<Array>()));
            let waits = i64::from(CLIENT_WAITS);
            let said = server.get("tool_timeout_sec");
            let is_ours = said.and_then(toml_edit::Item::as_integer) == Some(waits);
            if put && said.is_none() {
                server.insert("tool_timeout_sec", value(waits));
            } else if !put && is_ours {
                server.remove("tool_timeout_sec");
            }
        }
        Ok(if changed { document.to_string() } else { text.to_owned() })
    }
}

impl Patch for Servers {
    fn apply(&self, text: &str) -> Result<String, PatchError> {
        self.edit(text, true)
    }

    fn remove(&self, text: &str) -> Result<String, PatchError> {
        self.edit(text, false)
    }

    fn is_blank(&self, text: &str) -> bool {
        text.trim().is_empty()
    }
}

/// Variables that say where the daemon is, and that a client passes on if its file names them.
const DAEMON_VARIABLES: [&str; 4] =
    ["COUNTERSIGN_AGENTS", "COUNTERSIGN_STATE", "COUNTERSIGN_CONFIG", "XDG_RUNTIME_DIR"];

fn finds_daemon(server: &CstObject) -> bool {
    let found = server.to_serde_value().unwrap_or_default();
    let variables = found.get("env").or_else(|| found.get("environment"));
    DAEMON_VARIABLES.iter().any(|name| variables.is_some_and(|all| all.get(name).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(agents: Option<&str>) -> ProxyCommand {
        let agents = agents.map(ToOwned::to_owned);
        ProxyCommand { program: "/usr/bin/countersign".to_owned(), agents, daemon_key: None }
    }

    fn part(format: McpFileFormat) -> Servers {
        Servers::new(format, &proxy(None))
    }

    #[test]
    fn the_daemon_s_key_is_written_and_kept_up_to_date() {
        let format = McpFileFormat::mcp_servers(JsonSyntax::Strict, McpTimeoutField::None);
        let with = |key: &str| {
            let daemon_key = Some(key.to_owned());
            Servers::new(format, &ProxyCommand { daemon_key, ..proxy(Some("unix:/a.sock")) })
        };
        let text = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
        let put = with("/home/a b/daemon.pub").apply(text).unwrap();
        let words = r#""--agents","unix:/a.sock","--daemon-key","/home/a b/daemon.pub","--","x""#;
        let args = |text: &str| {
            let path = ["mcpServers", "a", "args"];
            JsonDocument::open(text, JsonSyntax::Strict).unwrap().at(&path).unwrap().to_string()
        };
        assert!(args(&put).ends_with(&format!("{words}]")), "{put}");
        assert_eq!(with("/home/a b/daemon.pub").apply(&put).unwrap(), put);
        // An installation from before gets the key, and another file replaces it.
        let before = part(format).apply(text).unwrap();
        assert!(args(&with("/home/a b/daemon.pub").apply(&before).unwrap()).ends_with("\"x\"]"));
        let moved = with("/etc/daemon.pub").apply(&put).unwrap();
        assert_eq!(args(&moved), args(&put).replace("/home/a b/", "/etc/"));
        let restored = with("/etc/daemon.pub").remove(&moved).unwrap();
        assert!(restored.contains("\"x\"") && !restored.contains("daemon"), "{restored}");
    }

    #[test]
    fn the_daemon_s_address_is_written_and_kept_up_to_date() {
        let text = r#"{"mcpServers": {"a": {"command": "x"},
            "b": {"command": "y", "env": {"COUNTERSIGN_AGENTS": "127.0.0.1:1"}}}}"#;
        let format = McpFileFormat::mcp_servers(JsonSyntax::Strict, McpTimeoutField::None);
        let with = |agents: &str| Servers::new(format, &proxy(Some(agents)));
        let args = |text: &str, name: &str| {
            let path = ["mcpServers", name, "args"];
            JsonDocument::open(text, JsonSyntax::Strict).unwrap().at(&path).unwrap().to_string()
        };
        let put = with("unix:/run/a.sock").apply(text).unwrap();
        let expected = r#"["mcp","--server","a","--agents","unix:/run/a.sock","--","x"]"#;
        assert_eq!(args(&put, "a"), expected);
        assert_eq!(args(&put, "b"), r#"["mcp","--server","b","--","y"]"#);
        assert_eq!(with("unix:/run/a.sock").apply(&put).unwrap(), put);
        // A file from before gets the address, another address replaces it.
        let before = part(format).apply(text).unwrap();
        assert_eq!(args(&with("unix:/run/a.sock").apply(&before).unwrap(), "a"), expected);
        let moved = with("unix:/run/b.sock").apply(&put).unwrap();
        assert_eq!(args(&moved, "a"), expected.replace("a.sock", "b.sock"));
        assert_eq!(args(&moved, "b"), args(&put, "b"));

        let toml = "[mcp_servers.a]\ncommand = \"x\"\n\
                    [mcp_servers.b]\ncommand = \"y\"\nenv = { XDG_RUNTIME_DIR = \"/r\" }\n";
        let codex = Servers::new(McpFileFormat::Toml, &proxy(Some("unix:/run/a.sock")));
        let put = codex.apply(toml).unwrap();
        assert_eq!(put.matches("\"--agents\", \"unix:/run/a.sock\"").count(), 1, "{put}");
        assert_eq!(codex.apply(&put).unwrap(), put);
    }

    #[test]
    fn every_server_is_put_behind_the_proxy_and_restored() {
        let text = r#"{
  // mine
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "server", "~/x"], "env": {"A": "1"} },
    "far": { "url": "https://example.org/mcp" },
    "bare": { "command": "weather" }
  },
  "other": [1, 2,]
}
"#;
        let servers = part(McpFileFormat::mcp_servers(JsonSyntax::Json5, McpTimeoutField::None));
        let put = servers.apply(text).unwrap();
        assert!(put.contains("// mine") && put.contains("\"other\": [1, 2,]"), "{put}");
        let read = |text: &str, path: &[&str]| {
            JsonDocument::open(text, JsonSyntax::Json5).unwrap().at(path).unwrap()
        };
        let words =
            serde_json::json!(["mcp", "--server", "files", "--", "npx", "-y", "server", "~/x"]);
        assert_eq!(read(&put, &["mcpServers", "files", "args"]), words);
        assert_eq!(read(&put, &["mcpServers", "files", "command"]), "/usr/bin/countersign");
        assert_eq!(read(&put, &["mcpServers", "files", "env", "A"]), "1");
        assert_eq!(read(&put, &["mcpServers", "far"]), read(text, &["mcpServers", "far"]));
        // A second time changes nothing, and removing restores the file.
        assert_eq!(servers.apply(&put).unwrap(), put);
        let out = servers.remove(&put).unwrap();
        assert_eq!(read(&out, &["mcpServers", "files"]), read(text, &["mcpServers", "files"]));
        assert_eq!(servers.remove(text).unwrap(), text);
    }

    #[test]
    fn the_time_limit_is_raised_if_the_file_has_one() {
        let text = "# mine\n[mcp_servers.files]\ncommand = \"npx\" # with care\nargs = [\"-y\"]\n";
        let codex = part(McpFileFormat::Toml);
        let put = codex.apply(text).unwrap();
        assert!(put.contains("# mine") && put.contains("tool_timeout_sec = 86400"), "{put}");
        assert!(put.contains("\"--patience\", \"86100\", \"--\", \"npx\", \"-y\""), "{put}");
        assert_eq!(codex.apply(&put).unwrap(), put);
        let out = codex.remove(&put).unwrap();
        assert!(!out.contains("countersign") && !out.contains("tool_timeout_sec"), "{out}");

        let gemini =
            part(McpFileFormat::mcp_servers(JsonSyntax::Comments, McpTimeoutField::Milliseconds));
        let put = gemini.apply(r#"{"mcpServers": {"a": {"command": "x", "timeout": 5}}}"#).unwrap();
        assert!(put.contains("\"timeout\": 5"), "{put}");
        let put = gemini.apply(r#"{"mcpServers": {"a": {"command": "x"}}}"#).unwrap();
        assert!(put.contains("86400000"), "{put}");
        assert!(!gemini.remove(&put).unwrap().contains("86400000"));
    }

    #[test]
    fn one_list_and_files_without_servers() {
        let opencode = part(McpFileFormat::CommandList);
        let text = r#"{"mcp": {"a": {"type": "local", "command": ["npx", "b"]}}}"#;
        let put = opencode.apply(text).unwrap();
        assert!(put.contains("\"--\", \"npx\", \"b\"") || put.contains("\"--\",\n"), "{put}");
        assert_eq!(opencode.remove(text).unwrap(), text);
        let none = r#"{ "theme" : "dark" }"#;
        assert_eq!(opencode.apply(none).unwrap(), none);
        assert!(opencode.apply("[]").is_err());
        assert!(opencode.apply("{\"mcp\":{\"a\":{},\"a\":{}}}").is_err());
    }
}
