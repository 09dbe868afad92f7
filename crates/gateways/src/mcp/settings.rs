//! The settings of a proxy, and the names of servers.

use std::path::PathBuf;
use std::time::Duration;

use countersign_risk::tools::plain_mcp_name as plain_name;

/// The settings of a proxy.
#[derive(Debug, Clone)]
pub struct ProxySettings {
    /// The server's name, as in `mcp__NAME__tool`.
    pub server: String,
    /// The folder of the records of tools.
    pub state: PathBuf,
    /// The project of the calls, if the client does not say it.
    pub project: Option<String>,
    /// How long the client waits for a call; nothing means: as its name implies.
    pub time_limit: Option<Duration>,
}

/// Why the proxy could not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct McpError(pub String);

/// A server's name from its command: the program, or what a launcher launches.
pub fn server_name_from_command(words: &[String]) -> String {
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
        plain_name(name)
    };
    let launched = |word: &String| {
        let name = base(word);
        let step = ["run", "exec", "dlx", "tool", "x", "-"].contains(&name.as_str());
        !LAUNCHERS.contains(&name.as_str()) && !step && !word.starts_with('-')
    };
    let named = words.iter().find(|word| launched(word)).or(words.first());
    named.map(|word| base(word)).filter(|name| !name.is_empty()).unwrap_or("server".to_owned())
}

/// A server's name from its URL: the host.
pub fn server_name_from_url(url: &str) -> String {
    let host = url.split("://").nth(1).unwrap_or(url);
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    plain_name(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_after_its_command_or_host() {
        let name = |line: &str| {
            server_name_from_command(&line.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(name("/usr/bin/mail-server --port 1"), "mail-server");
        assert_eq!(name("npx -y @modelcontextprotocol/server-everything@2.0"), "server-everything");
        assert_eq!(name("uv run weather.py"), "weather");
        assert_eq!(name("python3 -m"), "python3");
        assert_eq!(server_name_from_url("https://mcp.example.org:8443/mcp"), "mcp_example_org");
    }
}
