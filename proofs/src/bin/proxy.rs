//! The MCP proxy without the command line: address, token, key, folder, name, time limit, server.
//! With `PROXY=http` the server is a URL, and the proxy prints its address.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use countersign_client::{AgentClient, DaemonKey, Endpoint};
use countersign_gateways::mcp::{ProxySettings, run_http, run_stdio};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, token, key, state, server, patience, command @ ..] = words.as_slice() else {
        return ExitCode::from(2);
    };
    let Ok(endpoint) = Endpoint::parse(endpoint) else { return ExitCode::from(2) };
    let settings = ProxySettings {
        server: server.clone(),
        state: state.into(),
        project: None,
        time_limit: patience.parse().ok().map(Duration::from_millis),
    };
    let agent = AgentClient::new(endpoint, Some(token.clone()));
    let agent = agent.trusting(DaemonKey::read(Path::new(key)));
    if std::env::var_os("PROXY").is_some_and(|how| how == "http") {
        let [url] = command else { return ExitCode::from(2) };
        let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let ended = run_http(settings, agent, listen, url, |address| println!("{address}"));
        return if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    run_stdio(settings, agent, command).map_or(ExitCode::from(2), ExitCode::from)
}
