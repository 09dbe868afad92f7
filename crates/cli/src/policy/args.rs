//! The arguments of `countersign policy`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::call_context::CallContext;
use crate::gate::args::PersonArgs;

/// Check, test, explain, compare and show the policy rules.
#[derive(Parser)]
#[command(name = "countersign policy", bin_name = "countersign policy")]
#[command(after_help = EXAMPLES)]
pub struct PolicyArgs {
    /// The action.
    #[command(subcommand)]
    pub what: PolicyWhat,
}

const EXAMPLES: &str = "\
Examples:
  countersign policy check
  countersign policy explain 'terraform destroy' --env production --agent deployer
  countersign policy explain --tool send_email --args '{\"to\": \"a@example.com\"}'
  countersign policy diff old/countersign.toml countersign.toml --calls calls.jsonl
  countersign policy show no-force-push
  countersign policy confirm 0123456789abcdef
  countersign policy adopt ~/src/shop
  countersign policy apply rules.cedar

Rules are in [policy] of countersign.toml and in policy/*.cedar next to it. A project can have more
of them in .countersign.toml in its root folder.
Exit codes: 0 success; 1 invalid rules, a failed test, or different verdicts; 2 invalid input.";

/// The actions of `policy`.
#[derive(Subcommand)]
pub enum PolicyWhat {
    /// Check the rules and run their tests, as the daemon does before it uses them.
    Check {
        /// The configuration file, or the .countersign.toml of a project [default: the standard
        /// path]
        file: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run the tests of the rules, and print how many passed.
    Test {
        /// The configuration file [default: the standard path]
        file: Option<String>,
    },
    /// Say what the rules decide about a call, and why.
    Explain(Box<PolicyExplainArgs>),
    /// Compare two configurations: calls that they treat differently.
    #[command(after_help = DIFF_EXAMPLES)]
    Diff {
        /// The configuration file before.
        old: String,
        /// The configuration file after.
        new: String,
        /// Calls, one JSON object per line; `-` reads standard input.
        #[arg(long, value_name = "FILE")]
        calls: PathBuf,
        /// Print JSON, one line per call.
        #[arg(long)]
        json: bool,
    },
    /// Confirm rules of the configuration that let more calls pass than the rules in force.
    Confirm {
        /// The hash of the rules, at least its first 16 characters, as the daemon printed it.
        hash: String,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Propose rules in Cedar: people decide about them as about a CRITICAL call.
    Apply {
        /// The file; `-` reads standard input. Its rules replace those that were applied before.
        file: String,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Adopt the rules in `.countersign.toml` of a project: they may also allow from then on.
    Adopt {
        /// The project's root folder [default: the repository of this folder]
        path: Option<String>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// List the projects whose rules were adopted.
    Projects {
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Revoke the adoption of a project's rules: they only restrict from then on.
    Revoke {
        /// The project's root folder, as `countersign policy projects` lists it.
        path: String,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Print the rules as Cedar text.
    Show {
        /// Only the rule with this name.
        name: Option<String>,
        /// The configuration file [default: the standard path]
        #[arg(long, value_name = "FILE")]
        config: Option<String>,
        /// Print the schema: what rules can be about.
        #[arg(long, conflicts_with = "name")]
        schema: bool,
    },
}

const DIFF_EXAMPLES: &str = "\
Examples:
  countersign policy diff old/countersign.toml countersign.toml --calls calls.jsonl

A line is {\"command\": \"…\"} or {\"tool\": \"…\", \"arguments\": {…}}, with agent, session, cwd,
project, host, environment, hour (0 to 23) and weekday (monday to sunday) if they matter.
Exit codes: 0 no difference, 1 verdicts differ, 2 invalid input.";

/// Say what the rules decide about a call, and why.
#[derive(Parser)]
pub struct PolicyExplainArgs {
    /// A shell command.
    pub command: Option<String>,
    /// A tool that is not the shell.
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub tool: Option<String>,
    /// The tool's arguments: a JSON object, `@file` or `-` for standard input.
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub args: Option<String>,
    /// The agent that asks.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The configuration file [default: the standard path]
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Also print the facts that rules see.
    #[arg(long)]
    pub facts: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Where it would run.
    #[command(flatten)]
    pub context: CallContext,
}
