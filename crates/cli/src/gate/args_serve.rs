//! The arguments of `countersign serve`.

use clap::Parser;

/// Start the daemon: the gate, the agent API and the people API.
#[derive(Parser)]
#[command(name = "countersign serve", bin_name = "countersign serve")]
#[command(after_help = SERVE_EXAMPLES)]
pub struct Serve {
    /// The configuration file [default: `COUNTERSIGN_CONFIG` or the standard path]
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Directory of the store, keys and socket [default: `COUNTERSIGN_STATE`]
    #[arg(long, value_name = "DIR")]
    pub state: Option<String>,
    /// Address of the agent API, such as 127.0.0.1:6000; port 0 selects a free port.
    #[arg(long, value_name = "ADDR")]
    pub agents: Option<String>,
    /// Address of the people API, such as 127.0.0.1:6001; port 0 selects a free port.
    #[arg(long, value_name = "ADDR")]
    pub people: Option<String>,
    /// Log level: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// Test the gates of the agents at this interval in seconds, instead of the configured one.
    #[arg(long, hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub prove_every: Option<u32>,
    /// Create `owner` and print the passphrase, although the output is not a terminal.
    #[arg(long)]
    pub print_passphrase: bool,
    /// Print one line of JSON with the addresses.
    #[arg(long)]
    pub json: bool,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  countersign serve
  countersign serve --state /var/lib/countersign --config /etc/countersign.toml
  countersign serve --agents 127.0.0.1:0 --people 127.0.0.1:0 --json

The passphrase of `owner` is shown only at the first start, on a terminal, and is not stored. A
journal or log file gets none: there, run `countersign service first-passphrase` before.
SIGTERM or Ctrl-C stops cleanly (a second one immediately); SIGHUP reloads the configuration.
Exit codes: 0 stopped cleanly, 2 could not start or could not write.";
