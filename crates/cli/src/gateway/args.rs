//! What can be said to the commands between an agent and the gate.

use std::path::PathBuf;

use clap::{Args, Parser};
use countersign_gateways::install::LONGEST_PATIENCE;

/// Answer an agent's hook: what it runs before each tool call.
///
/// Reads the agent's JSON from standard input and answers in the agent's own words. Harmless
/// calls pass at once; others wait for a person. Whatever goes wrong is a no.
#[derive(Parser)]
#[command(name = "countersign hook", bin_name = "countersign hook", after_help = HOOK_EXAMPLES)]
pub struct Hook {
    /// Whose hook: claude, codex, gemini, cursor, copilot, opencode, openclaw, hermes; or `plugin`.
    #[arg(value_name = "AGENT")]
    pub host: String,
    /// Which agent a `plugin` speaks for.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// After how many seconds to say "still waiting": sooner than the agent loses patience.
    #[arg(long, value_name = "SECONDS")]
    pub patience: Option<u32>,
    /// Where calls wait that passed without the daemon.
    #[arg(long, value_name = "DIR", hide = true)]
    pub spool: Option<PathBuf>,
}

const HOOK_EXAMPLES: &str = "\
Examples:
  countersign install claude              sets the hook up; you need not call it yourself
  countersign hook claude < call.json     what Claude Code runs; call.json is what it sends

Ends with 0 and an answer, or with 2 and the reason on standard error where no answer can be
given; both keep the call from running.";

/// Set the gate up in an agent's own configuration.
///
/// Shows what would change, asks, keeps a backup, and writes nothing else. A second time changes
/// nothing.
#[derive(Parser)]
#[command(name = "countersign install", bin_name = "countersign install")]
#[command(after_help = INSTALL_EXAMPLES)]
pub struct Install {
    /// Which one: claude, codex, gemini, cursor, copilot, opencode, openclaw or hermes.
    pub agent: String,
    /// Only in this project's own files, instead of everywhere for you.
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// How long the agent's hook waits for a person before it says "still waiting".
    #[arg(long, value_name = "SECONDS", default_value_t = LONGEST_PATIENCE)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(LONGEST_PATIENCE)))]
    pub patience: u32,
    /// How it is done.
    #[command(flatten)]
    pub manner: Manner,
}

/// How files are changed.
#[derive(Args)]
pub struct Manner {
    /// Do not ask; write it.
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Only show what would change.
    #[arg(long)]
    pub dry_run: bool,
    /// As JSON; needs --yes or --dry-run.
    #[arg(long)]
    pub json: bool,
}

const INSTALL_EXAMPLES: &str = "\
Examples:
  countersign install claude --dry-run     see what would be written
  countersign install claude
  countersign install codex --project .    this project only

What was there is kept beside each file as NAME.countersign-backup-1. `countersign uninstall` takes
out what was put in and leaves everything else. No credential is written anywhere.
Exit codes: 0 the agent is gated, 1 it is not (you said no, or the agent holds it open; the words
say why), 2 an error: nothing was written.";

/// Take the gate out of an agent's configuration again.
#[derive(Parser)]
#[command(name = "countersign uninstall", bin_name = "countersign uninstall")]
#[command(after_help = UNINSTALL_EXAMPLES)]
pub struct Uninstall {
    /// Which one: claude, codex, gemini, cursor, copilot, opencode, openclaw or hermes.
    pub agent: String,
    /// Only in this project's own files.
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// How it is done.
    #[command(flatten)]
    pub manner: Manner,
}

const UNINSTALL_EXAMPLES: &str = "\
Examples:
  countersign uninstall claude
  countersign uninstall codex --project . --yes

Files that nobody changed since are put back byte by byte; from others only our own part goes.
Exit codes: 0 taken out, or not there; 1 you said no; 2 an error.";

/// Say of every agent whether its calls are gated, and if not, why.
#[derive(Parser)]
#[command(name = "countersign status", bin_name = "countersign status")]
#[command(after_help = STATUS_EXAMPLES)]
pub struct Status {
    /// Only this one.
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
  countersign status codex --project . --json

Looks at files, at programs, and asks Codex itself; it starts no other agent. What is called gated
here is proved by `countersign doctor`.
Exit codes: 0 every agent that is here is gated, 1 one is not, 2 an error.";
