//! What can be said to `countersign mcp`.

use clap::Parser;

/// Stand between an MCP client and an MCP server: every tool call is judged first.
///
/// Starts the server and passes everything on untouched. Calls that could do harm wait until a
/// person answers; a no comes back as the tool's result, in words for the model.
#[derive(Parser)]
#[command(name = "countersign mcp", bin_name = "countersign mcp", after_help = MCP_EXAMPLES)]
pub struct Mcp {
    /// The server's name, as in `mcp__NAME__tool`; by its command if nothing is said.
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// After how many seconds the client gives up; by its name if nothing is said.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub patience: Option<u32>,
    /// The agents' door; else `COUNTERSIGN_AGENTS`, else the configuration's.
    #[arg(long, value_name = "ADDR")]
    pub agents: Option<String>,
    /// A file with the agent's token; else `COUNTERSIGN_AGENT_TOKEN`, else none.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<String>,
    /// The server's own command.
    #[arg(last = true, value_name = "COMMAND", required = true)]
    pub command: Vec<String>,
}

const MCP_EXAMPLES: &str = "\
Examples:
  countersign mcp -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  countersign mcp --server mail --patience 240 -- mail-server --stdio

A call that nobody answered in time is told to the model as still waiting; the identical call
goes on waiting, and an approval is good for one run of it. A tool whose description or schema
is not what it was when it was first seen is asked about each time.
Ends with the server's exit code; 2 if it could not be started.";
