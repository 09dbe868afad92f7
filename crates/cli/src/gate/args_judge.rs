//! Arguments of `judge`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::args::{PersonArgs, PersonOnly};

/// Test and inspect the model judge, which gives second opinions.
///
/// A language model reads calls that a person would be asked about. It is off until the
/// configuration has a section `[judge]`; then it only compares itself with people (shadow), until
/// the mode is release and the comparison permits it.
#[derive(Parser)]
#[command(name = "countersign judge", bin_name = "countersign judge")]
#[command(after_help = JUDGE_EXAMPLES)]
pub struct JudgeArgs {
    /// The action.
    #[command(subcommand)]
    pub what: JudgeWhat,
}

/// The actions of `judge`.
#[derive(Subcommand)]
pub enum JudgeWhat {
    /// Ask the model about labelled calls; print miss and over-ask rates.
    Test(TestArgs),
    /// Show the exact prompt and reply of one request.
    Explain(ExplainArgs),
    /// Show the judge's state and how it compares with people's decisions.
    Report(PersonOnly),
}

/// Arguments of `judge test`.
#[derive(Args)]
pub struct TestArgs {
    /// Labelled files as for `countersign eval`, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The configuration with the section `[judge]`.
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Ask about at most this many calls.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub limit: usize,
    /// How many dangerous calls that the model allowed to print.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub misses: usize,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `judge explain`.
#[derive(Args)]
pub struct ExplainArgs {
    /// The id of the request, the start of its id, or its two words.
    pub request: String,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

const JUDGE_EXAMPLES: &str = "\
Examples:
  countersign judge test my-calls.jsonl
  countersign judge test corpora/ --limit 200 --config ./countersign.toml
  countersign judge explain olive-tractor
  countersign judge report

`test` reads [judge] from the configuration and sends the calls of the files to that model, without
their secrets. A call counts as dangerous or harmless by its label, as in `countersign eval`; rows
with other labels are skipped. Rates have 95 % confidence intervals (Wilson).
Exit codes: 0 success, 2 an error.";
