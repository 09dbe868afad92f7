//! The arguments of `countersign replay`.

use std::path::PathBuf;

use clap::Parser;

use crate::gate::args::PersonArgs;

/// Try out other settings on recorded calls, with people's decisions.
///
/// Compares the configuration in force with another one, or with another mode: which
/// questions would be asked, and which calls that people denied would pass. The calls are
/// the requests that the daemon recorded, by their stored scores and policy rules, and the
/// calls that it only observed, by their tiers; or those in FILE (an agent's log, or what
/// `import --save` wrote), which are assessed again.
#[derive(Parser)]
#[command(name = "countersign replay", bin_name = "countersign replay")]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub struct ReplayArgs {
    /// Files with calls; by default the requests of the daemon.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The configuration to try out.
    #[arg(long, value_name = "FILE", required_unless_present = "mode")]
    pub config: Option<String>,
    /// The mode to try out: observe, `crisis_only` or enforce.
    #[arg(long, value_name = "MODE", value_parser = ["observe", "crisis_only", "enforce"])]
    pub mode: Option<String>,
    /// The people API and the person, for the requests of the daemon.
    #[command(flatten)]
    pub person: PersonArgs,
}

const EXAMPLES: &str = "\
Examples:
  countersign replay --config stricter.toml
  countersign replay --mode enforce
  countersign replay calls.jsonl --config candidate.toml --json

Exit codes: 0 no denied call would pass, 1 at least one would or may, 2 an error.";
