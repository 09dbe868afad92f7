//! `countersign mcp`: a gate between an MCP client and an MCP server.

use std::process::ExitCode;
use std::time::Duration;

use countersign_gateways::mcp::{self, Settings};

use super::args_mcp::Mcp;
use crate::failure::Failure;
use crate::gate::args::Asker;
use crate::gate::reach;

/// Runs `countersign mcp`.
pub fn run(args: &Mcp) -> Result<ExitCode, Failure> {
    let asker =
        Asker { agents: args.agents.clone(), token_file: args.token_file.clone(), json: false };
    let agent = reach::agent(&asker)?;
    let settings = Settings {
        server: args.server.clone().unwrap_or_else(|| mcp::name_of(&args.command)),
        state: reach::gateways_folder(),
        patience: args.patience.map(|seconds| Duration::from_secs(seconds.into())),
    };
    let ended = mcp::over_stdio(settings, agent, &args.command);
    ended.map(ExitCode::from).map_err(|error| Failure::Input(error.to_string()))
}
