//! Arguments of `servers`.

use clap::{Parser, Subcommand};

use super::args::{NamedArgs, PersonArgs, PersonOnly};

/// List MCP servers and label their tools.
#[derive(Parser)]
#[command(name = "countersign servers", bin_name = "countersign servers")]
#[command(after_help = SERVERS_EXAMPLES)]
pub struct ServersArgs {
    /// The action.
    #[command(subcommand)]
    pub what: ServersWhat,
}

const SERVERS_EXAMPLES: &str = "\
Examples:
  countersign servers list
  countersign servers show weather
  countersign servers label weather --reads forecast,stations --sends alert
  countersign servers label weather --remove forecast

A label says what a tool does that Countersign has no description of. Calls of a tool that only
reads pass if their arguments are harmless; every other label asks. A label is for one definition
of the tool: a tool that changed has none.
Exit codes: 0 success, 2 an error.";

/// The actions of `servers`.
#[derive(Subcommand)]
pub enum ServersWhat {
    /// List the MCP servers that the proxy has seen.
    List(PersonOnly),
    /// Show the tools of a server, by its name or id.
    Show(NamedArgs),
    /// Label tools of a server.
    Label {
        /// The server's name or id.
        server: String,
        /// Tools that only read.
        #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
        reads: Vec<String>,
        /// Tools that change data.
        #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
        changes: Vec<String>,
        /// Tools that send something to people or services.
        #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
        sends: Vec<String>,
        /// Tools that run commands or code.
        #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
        runs: Vec<String>,
        /// Tools that lose their label.
        #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
        remove: Vec<String>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
}
