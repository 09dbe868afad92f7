//! The MCP proxy without the command line: a door, a token, a folder, a name, a patience, a server.

use std::process::ExitCode;
use std::time::Duration;

use countersign_client::{Agent, Door};
use countersign_gateways::mcp::{Settings, over_stdio};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [door, token, state, server, patience, command @ ..] = words.as_slice() else {
        return ExitCode::from(2);
    };
    let Ok(door) = Door::parse(door) else { return ExitCode::from(2) };
    let settings = Settings {
        server: server.clone(),
        state: state.into(),
        patience: patience.parse().ok().map(Duration::from_millis),
    };
    let agent = Agent::new(door, Some(token.clone()));
    over_stdio(settings, agent, command).map_or(ExitCode::from(2), ExitCode::from)
}
