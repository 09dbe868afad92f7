//! `countersign mcp`: the gate between an MCP client and an MCP server.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use countersign_client::process_project;
use countersign_gateways::mcp::{self, ProxySettings};

use super::args_mcp::{Action, Mcp, TrustArgs};
use super::mcp_install;
use crate::failure::Failure;
use crate::gate::args::Asker;
use crate::gate::{output, reach};

/// Runs `countersign mcp`.
pub fn run(args: &Mcp) -> Result<ExitCode, Failure> {
    match &args.action {
        Some(Action::Install(what)) => return mcp_install::install(what),
        Some(Action::Uninstall(what)) => return mcp_install::uninstall(what),
        Some(Action::Trust(what)) => return trust(what),
        None => {}
    }
    let asker = Asker {
        agents: args.agents.clone(),
        token_file: args.token_file.clone(),
        daemon_key: args.daemon_key.clone(),
        json: false,
    };
    let agent = reach::agent(&asker)?;
    let named = || match &args.http {
        Some(url) => mcp::server_name_from_url(url),
        None => mcp::server_name_from_command(&args.command),
    };
    let settings = ProxySettings {
        server: args.server.clone().unwrap_or_else(named),
        state: reach::gateways_folder(),
        // A proxy that listens was started by itself: its folder says nothing about its clients.
        project: process_project().filter(|_| args.http.is_none()).map(ToOwned::to_owned),
        time_limit: args.patience.map(|seconds| Duration::from_secs(seconds.into())),
    };
    let ended = match (&args.http, args.listen) {
        (Some(url), Some(listen)) => mcp::run_http(settings, agent, listen, url, |address| {
            // Standard error may be closed.
            let _ = writeln!(std::io::stderr(), "countersign: {url} is behind http://{address}");
        })
        .map(|()| 0),
        _ => mcp::run_stdio(settings, agent, &args.command),
    };
    ended.map(ExitCode::from).map_err(|error| Failure::Input(error.to_string()))
}

fn trust(args: &TrustArgs) -> Result<ExitCode, Failure> {
    let agent = reach::agent(&args.asker)?;
    let forgotten = mcp::trust(&reach::gateways_folder(), &agent, &args.server);
    let count = forgotten.map_err(|error| Failure::Input(error.to_string()))?;
    output::line(&match count {
        0 => format!("{}: no record of its tools was found.", args.server),
        _ => {
            format!("{}: its tools are accepted as they are now. Restart its client.", args.server)
        }
    })
}
