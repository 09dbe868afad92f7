//! The arguments of `countersign rollout`.

use std::path::PathBuf;

use clap::Parser;

/// Show which rollout phase this installation is in, and what the next one would change.
///
/// The phases are observe, crisis only and enforce. The figures come from the session logs of
/// your agents, as in `countersign import`. Nothing is changed.
#[derive(Parser)]
#[command(name = "countersign rollout", bin_name = "countersign rollout")]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub struct RolloutArgs {
    /// Log files, or folders of them; by default the agents' own folders.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Only files that changed in the last N days; 30 for the agents' own folders.
    #[arg(long, value_name = "N")]
    pub days: Option<u32>,
    /// The configuration file [default: `COUNTERSIGN_CONFIG` or the standard path]
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  countersign rollout
  countersign rollout calls.jsonl --json

Exit codes: 0 success, 2 invalid input.";
