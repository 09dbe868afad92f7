//! Arguments of `countersign mcp`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use countersign_gateways::agents::mcp_clients;

use crate::gate::args::Asker;

/// The examples with the name of a client.
fn mcp_examples() -> String {
    MCP_EXAMPLES.replace("CLIENT", mcp_clients().next().map_or("", |client| client.name))
}

/// The names of all clients.
fn client_help() -> String {
    let names: Vec<&str> = mcp_clients().map(|client| client.name).collect();
    format!("{}; or a file", names.join(", "))
}

/// Run the MCP proxy: every tool call to an MCP server is assessed first.
///
/// All other messages pass unchanged. A risky call waits until a person approves or denies it.
#[derive(Parser)]
#[command(name = "countersign mcp", bin_name = "countersign mcp", after_help = mcp_examples())]
#[command(args_conflicts_with_subcommands = true)]
pub struct Mcp {
    /// The action; without one the proxy runs.
    #[command(subcommand)]
    pub action: Option<Action>,
    /// Name of the server, as in `mcp__NAME__tool` [default: from its command or host]
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// After how many seconds the client times out [default: by the client's name]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub patience: Option<u32>,
    /// URL of a Streamable HTTP server, instead of a command.
    #[arg(long, value_name = "URL", conflicts_with = "command", requires = "listen")]
    pub http: Option<String>,
    /// Local address for the client, such as 127.0.0.1:6010.
    #[arg(long, value_name = "ADDR", requires = "http")]
    pub listen: Option<std::net::SocketAddr>,
    /// Agent API address [default: `COUNTERSIGN_AGENTS` or the configuration]
    #[arg(long, value_name = "ADDR")]
    pub agents: Option<String>,
    /// Private file with the agent's token [default: `COUNTERSIGN_AGENT_TOKEN` or none]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<String>,
    /// File with the daemon's public key [default: see `countersign keys --help`]
    #[arg(long, value_name = "FILE")]
    pub daemon_key: Option<PathBuf>,
    /// The program of the server and its arguments.
    #[arg(last = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// The actions of `mcp`.
#[derive(Subcommand)]
pub enum Action {
    /// Put the servers of a client's configuration behind the proxy.
    Install(Configured),
    /// Remove the proxy from a client's configuration.
    Uninstall(Configured),
    /// Accept the changed tools of a server; a person must approve.
    Trust(TrustArgs),
}

/// The server to trust.
#[derive(Args)]
pub struct TrustArgs {
    /// Its name, as in `mcp__NAME__tool`.
    pub server: String,
    /// The agent API and the agent.
    #[command(flatten)]
    pub asker: Asker,
}

/// The configuration to change.
#[derive(Args)]
pub struct Configured {
    #[arg(value_name = "CLIENT", help = client_help())]
    pub client: String,
    /// Only in the files of this project.
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Do not prompt for confirmation.
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Only show what would change.
    #[arg(long)]
    pub dry_run: bool,
}

const MCP_EXAMPLES: &str = "\
Examples:
  countersign mcp install CLIENT
  countersign mcp -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  countersign mcp --server mail --patience 240 -- mail-server --stdio
  countersign mcp --http https://mcp.example.org/mcp --listen 127.0.0.1:6010

A denial is returned to the model as the result of the tool, with the reason.
Without an answer in time, the model is told that the call is pending; repeating the same call
continues to wait, and an approval is valid for one run. A tool whose description or schema changed
since it was first seen needs approval each time, until you trust its server.
Exits with the exit code of the server; 2 if the server could not be started.";
