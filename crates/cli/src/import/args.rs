//! The arguments of `countersign import`.

use std::path::PathBuf;

use clap::Parser;

/// Read the logs of your agents and report what Countersign would have asked.
///
/// Reads the logs that agents keep on this machine, or the files and folders that you name:
/// logs of any of these agents, and JSON Lines with one call each. Nothing is changed and
/// nothing is sent.
#[derive(Parser)]
#[command(name = "countersign import", bin_name = "countersign import")]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub struct ImportArgs {
    /// Log files, or folders of them.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Only files that changed in the last N days; 30 for the agents' own folders.
    #[arg(long, value_name = "N")]
    pub days: Option<u32>,
    /// Write the calls, with their secrets, as JSON Lines for `countersign replay`.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// List every cause.
    #[arg(long)]
    pub all: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  countersign import
  countersign import --days 90 --save calls.jsonl
  countersign import exported-session.json logs/ --json

Exit codes: 0 success, 2 invalid input.";
