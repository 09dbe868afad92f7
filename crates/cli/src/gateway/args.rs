//! What can be said to the commands between an agent and the gate.

use std::path::PathBuf;

use clap::Parser;

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
  echo '{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}' \\
    | countersign hook claude

Ends with 0 and an answer, or with 2 and the reason on standard error where no answer can be
given; both keep the call from running.";
