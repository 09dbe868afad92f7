//! The arguments of the commands between an agent and the gate.

use std::path::PathBuf;

use clap::{Args, Parser};
use countersign_gateways::agents::{first_agent, names};
use countersign_gateways::install::MAX_PATIENCE;

/// Answer an agent's hook, which the agent starts before each tool call.
///
/// Reads the agent's JSON from standard input and answers in the agent's own format. Harmless calls
/// pass at once; others wait for a person. Every error is a denial.
#[derive(Parser)]
#[command(name = "countersign hook", bin_name = "countersign hook")]
#[command(after_help = with_agent(HOOK_EXAMPLES))]
pub struct Hook {
    #[arg(value_name = "AGENT", help = format!("The agent: {}; or `plugin`", names(", ")))]
    pub host: String,
    /// The agent of a `plugin`.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// How long to wait for a person before answering that no person has decided yet.
    ///
    /// The same call joins its request later. Shorter than the agent's own time limit.
    #[arg(long, value_name = "SECONDS")]
    pub patience: Option<u32>,
    /// File with the daemon's public key [default: see `countersign keys --help`]
    #[arg(long, value_name = "FILE")]
    pub daemon_key: Option<PathBuf>,
    /// The folder of the queue of calls that passed without the daemon.
    #[arg(long, value_name = "DIR", hide = true)]
    pub spool: Option<PathBuf>,
}

const HOOK_EXAMPLES: &str = "\
Examples:
  countersign install AGENT              installs the hook; you need not call it yourself
  countersign hook AGENT < call.json     what the agent runs; call.json is what it sends

Exits with 0 and an answer, or with 2 and the reason on standard error if it cannot answer; the call
does not run then.";

/// Install the gate in an agent's own configuration.
///
/// Shows the changes, asks, keeps backups and writes nothing else. Installing again changes
/// nothing.
#[derive(Parser)]
#[command(name = "countersign install", bin_name = "countersign install")]
#[command(after_help = with_agent(INSTALL_EXAMPLES))]
pub struct Install {
    #[arg(help = agent_help())]
    pub agent: String,
    /// Only in this project's own files, instead of everywhere for your user.
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// How long the hook waits for a person before it answers that no person has decided yet.
    ///
    /// The same call joins its request later.
    #[arg(long, value_name = "SECONDS", default_value_t = MAX_PATIENCE)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PATIENCE)))]
    pub patience: u32,
    /// How the files are changed.
    #[command(flatten)]
    pub manner: Manner,
}

/// How files are changed.
#[derive(Args)]
pub struct Manner {
    /// Write the changes without asking.
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Only show the changes.
    #[arg(long)]
    pub dry_run: bool,
    /// As JSON; needs --yes or --dry-run.
    #[arg(long)]
    pub json: bool,
}

const INSTALL_EXAMPLES: &str = "\
Examples:
  countersign install AGENT --dry-run     see what would be written
  countersign install AGENT
  countersign install AGENT --project .   this project only

The old text of each file is kept next to it as NAME.countersign-backup-1. `countersign uninstall`
removes our part and leaves everything else. No credential is written anywhere.
Exit codes: 0 the agent is protected, 1 it is not (you declined, or the agent ignores the gate; the
output says why), 2 an error: nothing was written.";

/// Remove the gate from an agent's configuration.
#[derive(Parser)]
#[command(name = "countersign uninstall", bin_name = "countersign uninstall")]
#[command(after_help = with_agent(UNINSTALL_EXAMPLES))]
pub struct Uninstall {
    #[arg(help = agent_help())]
    pub agent: String,
    /// Only in this project's own files.
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// How the files are changed.
    #[command(flatten)]
    pub manner: Manner,
}

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  countersign uninstall AGENT
  countersign uninstall AGENT --project . --yes

Files that were not changed since are restored byte by byte; from others only our part is removed.
Exit codes: 0 removed, or not installed; 1 you declined; 2 an error.";

/// Report for every agent whether it is protected, and if not, why.
#[derive(Parser)]
#[command(name = "countersign status", bin_name = "countersign status")]
#[command(after_help = with_agent(STATUS_EXAMPLES))]
pub struct Status {
    #[arg(help = format!("Only this agent: {}", names(" or ")))]
    pub agent: Option<String>,
    /// In this project's own files, too.
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

const STATUS_EXAMPLES: &str = "\
Examples:
  countersign status
  countersign status AGENT --project . --json

Checks files and programs, and asks an agent that has to trust its hooks; it starts no other agent.
`countersign doctor` tests with a forbidden call whether the gates block.
Exit codes: 0 every agent that is installed here is protected, 1 one is not, 2 an error.";

fn agent_help() -> String {
    format!("The agent: {}", names(" or "))
}

/// The text with the name of an agent in place of `AGENT`.
pub fn with_agent(text: &str) -> String {
    text.replace("AGENT", first_agent())
}
