//! What can be said to `countersign mcp`.

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

/// Stand between an MCP client and an MCP server: every tool call is judged first.
///
/// Everything else passes untouched. A call that could do harm waits until a person answers.
#[derive(Parser)]
#[command(name = "countersign mcp", bin_name = "countersign mcp", after_help = mcp_examples())]
#[command(args_conflicts_with_subcommands = true)]
pub struct Mcp {
    /// What else to do.
    #[command(subcommand)]
    pub action: Option<Action>,
    /// The server's name, as in `mcp__NAME__tool`; by its command or host if nothing is said.
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// After how many seconds the client gives up; by its name if nothing is said.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub patience: Option<u32>,
    /// A server that speaks Streamable HTTP, instead of a command.
    #[arg(long, value_name = "URL", conflicts_with = "command", requires = "listen")]
    pub http: Option<String>,
    /// Where the client reaches us then, such as 127.0.0.1:6010; this machine only.
    #[arg(long, value_name = "ADDR", requires = "http")]
    pub listen: Option<std::net::SocketAddr>,
    /// The agent API; else `COUNTERSIGN_AGENTS`, else the configuration's.
    #[arg(long, value_name = "ADDR")]
    pub agents: Option<String>,
    /// A file with the agent's token; else `COUNTERSIGN_AGENT_TOKEN`, else none.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<String>,
    /// The server: its program and what that is told.
    #[arg(last = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// What else can be done.
#[derive(Subcommand)]
pub enum Action {
    /// Put the servers in a client's configuration behind the proxy.
    Install(Configured),
    /// Take them out again.
    Uninstall(Configured),
    /// Take a server's tools as they are now, after a change; a person is asked at the gate.
    Trust(Trusted),
}

/// Which server.
#[derive(Args)]
pub struct Trusted {
    /// Its name, as in `mcp__NAME__tool`.
    pub server: String,
    /// Where and as whom to ask.
    #[command(flatten)]
    pub asker: Asker,
}

/// Which configuration, and how it is changed.
#[derive(Args)]
pub struct Configured {
    #[arg(value_name = "CLIENT", help = client_help())]
    pub client: String,
    /// Only in this project's own files.
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Do not ask; write it.
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

A no comes back as the tool's result, in words for the model.
A call that nobody answered in time is told to the model as still waiting; the identical call
goes on waiting, and an approval is good for one run of it. A tool whose description or schema
is not what it was when it was first seen is asked about each time, until you trust its server.
Ends with the server's exit code; 2 if it could not be started.";
