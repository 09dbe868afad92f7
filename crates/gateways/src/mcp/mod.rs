//! The MCP proxy: between any MCP client and any MCP server, byte for byte, `tools/call` gated.
//!
//! `session` stands between two pipes, `stdio` starts a server behind it. `judge` lets harmless
//! calls pass; every other one waits at the `desk`, where one thread asks the daemon about it.

mod asking;
mod clients;
mod continued;
mod desk;
mod heard;
mod http;
pub mod install;
mod judge;
mod lines;
mod looks;
mod message;
mod park;
mod pins;
mod reports;
mod rewrite;
mod scan;
mod session;
mod several;
mod stdio;
mod task;
mod tools;
mod trust;
mod used_ids;
mod words;

use std::path::PathBuf;
use std::time::Duration;

pub use http::run as over_http;
pub use stdio::run as over_stdio;
pub use trust::trust;

/// What an operator says about a proxy.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's name: the part of every tool's name that says whose it is.
    pub server: String,
    /// The folder in which tools are remembered.
    pub state: PathBuf,
    /// How long the client waits; by its name if nothing is said.
    pub patience: Option<Duration>,
}

/// Why there is no proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct McpError(pub String);

/// A server's name from the words that start it: its program, or what a launcher launches.
pub fn name_of(words: &[String]) -> String {
    const LAUNCHERS: [&str; 12] = [
        "npx", "uvx", "bunx", "pnpx", "pipx", "node", "python", "python3", "uv", "deno", "bun",
        "docker",
    ];
    let base = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        let name = name.split('@').next().filter(|name| !name.is_empty()).unwrap_or(name);
        let name = [".js", ".mjs", ".cjs", ".py", ".ts"]
            .into_iter()
            .find_map(|ending| name.strip_suffix(ending))
            .unwrap_or(name);
        pins::plain(name)
    };
    let launched = |word: &String| {
        let name = base(word);
        let step = ["run", "exec", "dlx", "tool", "x", "-"].contains(&name.as_str());
        !LAUNCHERS.contains(&name.as_str()) && !step && !word.starts_with('-')
    };
    let named = words.iter().find(|word| launched(word)).or(words.first());
    named.map(|word| base(word)).filter(|name| !name.is_empty()).unwrap_or("server".to_owned())
}

/// The same from a URL: its host.
pub fn name_of_url(url: &str) -> String {
    let host = url.split("://").nth(1).unwrap_or(url);
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    pins::plain(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_what_it_is_started_as() {
        let name =
            |line: &str| name_of(&line.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>());
        assert_eq!(name("/usr/bin/mail-server --port 1"), "mail-server");
        assert_eq!(name("npx -y @modelcontextprotocol/server-everything@2.0"), "server-everything");
        assert_eq!(name("uv run weather.py"), "weather");
        assert_eq!(name("python3 -m"), "python3");
        assert_eq!(name_of_url("https://mcp.example.org:8443/mcp"), "mcp_example_org");
    }
}
