//! Arguments of the commands that talk to the daemon: serving, asking and deciding.

use std::path::PathBuf;

use clap::{Args, Parser};

/// How to reach the people API, and as whom.
#[derive(Args, Clone, Default)]
pub struct PersonArgs {
    /// People API address [default: `COUNTERSIGN_PEOPLE` or the configuration]
    #[arg(long, value_name = "ADDR")]
    pub people: Option<String>,
    /// The person to log in as if there is no token [default: owner]
    #[arg(long = "as", value_name = "NAME")]
    pub whose: Option<String>,
    /// Private file with your token [default: `COUNTERSIGN_TOKEN`, saved login]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<String>,
    /// Private file with your passphrase, or `-` for standard input [default: prompt]
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

impl PersonArgs {
    /// The person to log in as.
    pub fn name(&self) -> &str {
        self.whose.as_deref().unwrap_or("owner")
    }
}

/// Only the person.
#[derive(Args)]
pub struct PersonOnly {
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// A name, and the person.
#[derive(Args)]
pub struct NamedArgs {
    /// The name.
    pub name: String,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// How to reach the agent API.
#[derive(Args, Clone, Default)]
pub struct Asker {
    /// Agent API address [default: `COUNTERSIGN_AGENTS` or the configuration]
    #[arg(long, value_name = "ADDR")]
    pub agents: Option<String>,
    /// Private file with the agent's token [default: `COUNTERSIGN_AGENT_TOKEN` or none]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<String>,
    /// File with the daemon's public key [default: see `countersign keys --help`]
    #[arg(long, value_name = "FILE")]
    pub daemon_key: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Ask a person to approve a call, and wait for the decision.
#[derive(Parser)]
#[command(name = "countersign ask", bin_name = "countersign ask")]
#[command(after_help = ASK_EXAMPLES)]
pub struct Ask {
    /// What would be done: the tool's or action's name, such as `send_email`.
    #[arg(long, value_name = "NAME", required_unless_present = "command")]
    pub action: Option<String>,
    /// A description for the person who decides.
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The arguments: a JSON object, `@file` or `-` for standard input.
    #[arg(long, value_name = "JSON", requires = "action")]
    pub payload: Option<String>,
    /// A shell command instead of an action.
    #[arg(long, value_name = "COMMAND", conflicts_with = "action")]
    pub command: Option<String>,
    /// The tier you claim: SAFE to CRITICAL, or low, medium, high; can only raise.
    #[arg(long, value_name = "TIER")]
    pub risk: Option<String>,
    /// The session it belongs to.
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// How long to wait, in seconds [default: 300]
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u32>,
    /// The agent API and the agent.
    #[command(flatten)]
    pub asker: Asker,
}

const ASK_EXAMPLES: &str = "\
Examples:
  countersign ask --action send_email --description 'weekly report' \\
      --payload '{\"to\": \"team@example.com\"}' && ./send-report
  countersign ask --command 'git push --force' --timeout 120

Prints the decision in one line. Without an answer, without a daemon and after any error the call is
not approved.
Exit codes: 0 approved, 1 denied, expired or cancelled, 2 an error or no daemon.";

/// Cancel a pending request.
#[derive(Parser)]
#[command(name = "countersign cancel", bin_name = "countersign cancel")]
#[command(
    after_help = "Examples:\n  countersign cancel olive-tractor\n\nExit codes: 0 cancelled, 2 it had already ended, or an error."
)]
pub struct Cancel {
    /// The request: its id, the start of its id, or its two words.
    pub request: String,
    /// The agent API and the agent.
    #[command(flatten)]
    pub asker: Asker,
}

/// Open the inbox: pending requests, full screen.
#[derive(Parser)]
#[command(name = "countersign inbox", bin_name = "countersign inbox")]
#[command(after_help = INBOX_EXAMPLES)]
pub struct InboxArgs {
    /// Without full screen: list pending requests, then ask line by line.
    #[arg(long)]
    pub plain: bool,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

const INBOX_EXAMPLES: &str = "\
Examples:
  countersign inbox
  countersign inbox --token-file ~/.countersign-token
  countersign inbox --plain

j and k move, Enter opens, a approves, d denies, ? lists all keys. Enter alone approves nothing:
after a, HIGH requires one of its two words, CRITICAL requires a reason.
Without a terminal, --plain is the default: y approves, n denies, anything else leaves the request
pending; HIGH and CRITICAL are never approved from a pipe.
Exit codes: 0 success, 2 an error.";

/// List pending requests.
#[derive(Parser)]
#[command(name = "countersign pending", bin_name = "countersign pending")]
#[command(after_help = PENDING_EXAMPLES)]
pub struct Pending {
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

const PENDING_EXAMPLES: &str = "\
Examples:
  countersign pending
  countersign pending --json

Prompts for your passphrase unless you are logged in (`countersign login`), or COUNTERSIGN_TOKEN or
--token-file is given.
Exit codes: 0 success, 2 an error.";

/// Show one request in full.
#[derive(Parser)]
#[command(name = "countersign show", bin_name = "countersign show")]
#[command(
    after_help = "Examples:\n  countersign show olive-tractor\n  countersign show 01hf3z --all\n\nExit codes: 0 success, 2 an error."
)]
pub struct Show {
    /// The request: its id, the start of its id (4 or more characters), or its two words.
    pub request: String,
    /// Show every reason and the whole call.
    #[arg(long)]
    pub all: bool,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// Approve a request: the call may run, once.
#[derive(Parser)]
#[command(name = "countersign approve", bin_name = "countersign approve")]
#[command(after_help = APPROVE_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a command-line flag")]
pub struct Approve {
    /// The request: its id, the start of its id (4 or more characters), or its two words.
    #[arg(required_unless_present = "all")]
    pub request: Option<String>,
    /// All pending requests, after you have seen each of them.
    #[arg(
        long,
        conflicts_with_all =
            ["request", "word", "only", "for_session", "for_repository", "minutes", "yes"]
    )]
    pub all: bool,
    /// The reason; required for CRITICAL calls.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// One of the two words of the call, for a HIGH call named by its id.
    #[arg(long, value_name = "WORD")]
    pub word: Option<String>,
    /// Approve only this part of a compound command, by its number; can be repeated.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["minutes", "for_repository"])]
    pub only: Vec<u8>,
    /// Approve for this session; lasts up to 12 hours.
    #[arg(long = "session", alias = "for-session", conflicts_with = "minutes")]
    pub for_session: bool,
    /// Approve the program for this repository; lasts up to 90 days.
    #[arg(long = "repository", conflicts_with_all = ["minutes", "for_session"])]
    pub for_repository: bool,
    /// Also approve exactly this call for this many minutes.
    #[arg(long = "for", value_name = "MINUTES")]
    pub minutes: Option<u32>,
    /// Do not prompt for confirmation.
    #[arg(long)]
    pub yes: bool,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

const APPROVE_EXAMPLES: &str = "\
Examples:
  countersign approve olive-tractor
  countersign approve 01hf3zq9 --reason 'the release we agreed on'
  countersign approve olive-tractor --session
  countersign approve olive-tractor --repository
  countersign approve olive-tractor --for 30
  countersign approve olive-tractor --only 2
  countersign approve --all

The request is shown first; Enter alone does not approve.
--session covers later calls of the same agent and session that ask about nothing else. CRITICAL
calls, messages, payments and the agent's own settings are asked about each time.
--repository covers a program without a description, for the same agent in every session in this git
repository. What else a call does is still asked about.
--only denies the command as a whole and approves the named part: proposed alone by the same agent
in the same session and folder, it runs once. 'countersign show' numbers the parts.
'countersign grants list' lists such approvals, 'countersign grants revoke' ends one.
Exit codes: 0 approved (or your vote was counted), 1 not approved, 2 an error.";

/// Deny a request: the call does not run.
#[derive(Parser)]
#[command(name = "countersign deny", bin_name = "countersign deny")]
#[command(
    after_help = "Examples:\n  countersign deny olive-tractor --reason 'wrong branch'\n\nThe agent receives your reason.\nExit codes: 0 denied, 2 an error."
)]
pub struct Deny {
    /// The request: its id, the start of its id (4 or more characters), or its two words.
    pub request: String,
    /// The reason; the agent receives it.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// Print events as they happen.
#[derive(Parser)]
#[command(name = "countersign watch", bin_name = "countersign watch")]
#[command(
    after_help = "Examples:\n  countersign watch\n  countersign watch --json\n\nPrints one line per event; Ctrl-C stops.\nExit codes: 2 an error."
)]
pub struct Watch {
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// List past requests, newest first.
#[derive(Parser)]
#[command(name = "countersign history", bin_name = "countersign history")]
#[command(after_help = HISTORY_EXAMPLES)]
pub struct History {
    /// Only requests in this state: pending, approved, denied, expired or cancelled.
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// Only requests of this agent.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only requests with this text in the call, the two words, agent, session or id.
    #[arg(long, value_name = "TEXT")]
    pub q: Option<String>,
    /// Only requests older than this one.
    #[arg(long, value_name = "ID")]
    pub before: Option<String>,
    /// The maximum number.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

const HISTORY_EXAMPLES: &str = "\
Examples:
  countersign history --state denied --limit 20
  countersign history --agent my-agent --q deploy

Exit codes: 0 success, 2 an error.";

/// Show counts and response times.
#[derive(Parser)]
#[command(name = "countersign stats", bin_name = "countersign stats")]
#[command(after_help = "Examples:\n  countersign stats\n\nExit codes: 0 success, 2 an error.")]
pub struct Stats {
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// Log in and save the login, so that you need not enter your passphrase each time.
#[derive(Parser)]
#[command(name = "countersign login", bin_name = "countersign login")]
#[command(after_help = LOGIN_EXAMPLES)]
pub struct LoginArgs {
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

const LOGIN_EXAMPLES: &str = "\
Examples:
  countersign login
  countersign login --as ana
  countersign logout

The token is saved in a file that only you can read and is never printed. Later commands use it, but
only in a terminal. A program of your user could read the file and decide in your name: log out
before you leave agents alone.
Exit codes: 0 logged in, 2 an error.";

/// End the saved login.
#[derive(Parser)]
#[command(name = "countersign logout", bin_name = "countersign logout")]
#[command(
    after_help = "Examples:\n  countersign logout\n\nOther sessions stay: see `countersign people sessions`.\nExit codes: 0 success, 2 an error."
)]
pub struct LogoutArgs {
    /// People API address [default: `COUNTERSIGN_PEOPLE` or the configuration]
    #[arg(long, value_name = "ADDR")]
    pub people: Option<String>,
}
