//! The command line. Only the parser of the named command is built, to start fast.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::call_context::{CallContext, parse_environment};
use crate::engine::{Environment, Tier};
use crate::gate::{
    args as gate, args_admin as admin, args_channel as channel, args_grants, args_people,
    args_reviews, args_servers,
};
use crate::gateway::args as gateway;
use crate::gateway::{args_a2a, args_mcp};
use crate::service;

/// A human-confirmation firewall for AI agents.
///
/// Every tool call is assessed before it runs. A risky call waits until a person approves or
/// denies it.
#[derive(Parser)]
#[command(name = "countersign", version, after_help = gateway::with_agent(TOP_EXAMPLES))]
pub struct Top {
    /// The command.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

/// The commands.
#[derive(Subcommand)]
pub enum CliCommand {
    /// Start the daemon: the gate, the agent API and the people API.
    Serve(crate::gate::args_serve::Serve),
    /// Run the daemon as a service of systemd or launchd.
    Service(service::args::ServiceArgs),
    /// Install the gate in an agent's own configuration.
    Install(gateway::Install),
    /// Remove the gate from an agent.
    Uninstall(gateway::Uninstall),
    /// Show which agents are protected.
    Status(gateway::Status),
    /// Ask a person to approve a call, and wait for the decision.
    Ask(gate::Ask),
    /// Open the inbox: pending requests, full screen.
    Inbox(gate::InboxArgs),
    /// List pending requests.
    Pending(gate::Pending),
    /// Show one request in full.
    Show(gate::Show),
    /// Approve a request: the call may run, once.
    Approve(gate::Approve),
    /// Deny a request: the call does not run.
    Deny(gate::Deny),
    /// Cancel a pending request.
    Cancel(gate::Cancel),
    /// Print events as they happen.
    Watch(gate::Watch),
    /// List past requests, newest first.
    History(gate::History),
    /// Show counts and response times.
    Stats(gate::Stats),
    /// List what calls changed, and restore files as they were.
    Undo(crate::undo::args::UndoArgs),
    /// Log in and save the login, so that you need not enter your passphrase each time.
    Login(gate::LoginArgs),
    /// End the saved login.
    Logout(gate::LogoutArgs),
    /// Manage the people who may decide.
    People(args_people::PeopleArgs),
    /// Manage agents and their tokens.
    Agents(args_people::AgentsArgs),
    /// Manage grants (standing permissions).
    Grants(args_grants::GrantsArgs),
    /// Look at what calls changed that ran first, and keep it or roll it back.
    Reviews(args_reviews::ReviewsArgs),
    /// Say whether a call that ran was right.
    Feedback(args_reviews::FeedbackArgs),
    /// List MCP servers and label their tools.
    Servers(args_servers::ServersArgs),
    /// List and resolve sessions in crisis.
    Crises(args_people::CrisesArgs),
    /// Test and inspect the model judge, which gives second opinions.
    Judge(crate::gate::args_judge::JudgeArgs),
    /// Stop every call: deny pending requests, refuse new calls, suspend grants.
    Freeze(args_people::FreezeArgs),
    /// End a stage of a freeze: first people decide again, then grants resume.
    Thaw(args_people::ThawArgs),
    /// Manage channels: Telegram and others.
    Channel(channel::ChannelArgs),
    /// Read, verify, prove and export the ledger.
    Ledger(admin::LedgerArgs),
    /// Show, pin and replace the key by which agents recognize the daemon.
    Keys(admin::KeysArgs),
    /// Verify a permit offline.
    Permit(admin::Permit),
    /// Check the configuration, or print an example.
    Config(admin::Config),
    /// Check how well this installation protects you, and how to improve it.
    Doctor(admin::DoctorArgs),
    /// Run as an agent's hook, before each tool call.
    Hook(gateway::Hook),
    /// Run the MCP proxy: every tool call to an MCP server is assessed first.
    Mcp(args_mcp::Mcp),
    /// Delegate tasks between agents over mutual TLS, through the gate.
    A2a(Box<args_a2a::A2a>),
    /// Manage the certificates of a fleet of agents.
    Pki(args_a2a::Pki),
    /// Assess a call: what it would do, how risky it is, and why.
    Assess(Assess),
    /// Screen a text for signs that a person is in crisis.
    Screen(Screen),
    /// Check the helplines that this build shows.
    Helplines(Helplines),
    /// Compute which calls of a list may run in parallel.
    Plan(PlanArgs),
    /// List, explain and check the rules.
    Rules(Rules),
    /// Check, test, explain, compare and show the policy rules.
    Policy(crate::policy::args::PolicyArgs),
    /// Evaluate the rules on labelled calls and texts.
    Eval(Eval),
    /// Read the logs of your agents and report what Countersign would have asked.
    Import(crate::import::args::ImportArgs),
    /// Try out other settings on recorded calls, with people's decisions.
    Replay(crate::replay::args::ReplayArgs),
    /// Show the rollout phase, and what the next one would change.
    Rollout(crate::rollout::args::RolloutArgs),
}

const TOP_EXAMPLES: &str = "\
Examples:
  countersign serve
  countersign install AGENT
  countersign ask --action send_email --payload '{\"to\": \"team@example.com\"}'
  countersign inbox
  countersign approve olive-tractor
  countersign assess 'rm -rf /tmp/build'
  countersign assess --tool send_email --args '{\"to\": \"all@example.com\"}'
  countersign screen 'some message'
  countersign rules list
  countersign eval my-calls.jsonl --html report.html

Exit codes: 0 success; 1 denied, expired, or a check failed; 2 invalid input, the daemon does not
respond, or another error (explained in one line on standard error).";

/// Assess a call: what it would do, how risky it is, and why.
#[derive(Parser, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a command-line flag")]
#[command(name = "countersign assess", bin_name = "countersign assess")]
#[command(after_help = ASSESS_EXAMPLES)]
pub struct Assess {
    /// A shell command; `-` reads it from standard input.
    pub command: Option<String>,
    /// A tool that is not the shell.
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub tool: Option<String>,
    /// The tool's arguments: a JSON object, `@file` or `-` for standard input.
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub args: Option<String>,
    /// Read one JSON object per line from standard input; write one JSON record per line.
    #[arg(long, conflicts_with_all = ["command", "tool", "args", "all", "exit_code"])]
    pub batch: bool,
    /// For measuring: count each question of a session as approved.
    #[arg(long, requires = "batch")]
    pub assume_approved: bool,
    /// Print the whole record as JSON.
    #[arg(long)]
    pub json: bool,
    /// Show every reason and the whole call.
    #[arg(long)]
    pub all: bool,
    /// Also look at what the call names on this machine; the assessment does not use it.
    #[arg(long, conflicts_with = "batch")]
    pub facts: bool,
    /// Exit with 0 allow, 10 ask, 11 deny, 12 crisis.
    #[arg(long)]
    pub exit_code: bool,
    /// The tier that the caller claims; it can only raise the assessed tier.
    #[arg(long, value_name = "TIER", value_parser = parse_tier)]
    pub claimed: Option<Tier>,
    /// Where it would run.
    #[command(flatten)]
    pub context: CallContext,
}

fn parse_tier(text: &str) -> Result<Tier, String> {
    Tier::parse(text).ok_or_else(|| "use SAFE, LOW, MEDIUM, HIGH or CRITICAL".to_owned())
}

const ASSESS_EXAMPLES: &str = "\
Examples:
  countersign assess 'git push --force origin main'
  countersign assess 'apt-get install -y jq' --env container
  countersign assess --tool send_email --args @mail.json --json
  echo '{\"command\": \"ls\"}' | countersign assess --batch

A batch line is {\"command\": \"…\"} or {\"tool\": \"…\", \"arguments\": {…}}; other fields
are ignored. An invalid line gives {\"error\": …, \"line\": N}, and the run continues.
--platform, --cwd, --project, --host and --env apply to every line.

Exit codes: 0 assessed, 2 invalid input; with --exit-code 0 allow, 10 ask, 11 deny, 12 crisis.";

/// Screen a text for signs that a person is in crisis.
#[derive(Parser)]
#[command(name = "countersign screen", bin_name = "countersign screen")]
#[command(after_help = SCREEN_EXAMPLES)]
pub struct Screen {
    /// The text; `-` reads it from standard input.
    pub text: Option<String>,
    /// Read one {"text": …} per line from standard input; write one JSON record per line.
    #[arg(long, conflicts_with = "text")]
    pub batch: bool,
    /// Print the whole record as JSON.
    #[arg(long)]
    pub json: bool,
    /// The country of the helplines, as a two-letter code.
    #[arg(long, value_name = "CC")]
    pub country: Option<String>,
    /// The wording of the card: neutral or soul.
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Ask the daemon, with its guard model and the context of the session.
    #[arg(long, conflicts_with_all = ["batch", "country", "preset"])]
    pub daemon: bool,
    /// Who wrote the text; with --daemon.
    #[arg(long, value_name = "ROLE", requires = "daemon", value_parser = ["user", "agent"])]
    pub role: Option<String>,
    /// The session of the text; with --daemon.
    #[arg(long, value_name = "NAME", requires = "daemon")]
    pub session: Option<String>,
}

const SCREEN_EXAMPLES: &str = "\
Examples:
  countersign screen 'this bug makes me want to die lol'
  countersign screen --country DE --json - < message.txt
  echo '{\"text\": \"hello\"}' | countersign screen --batch
  countersign screen --daemon --role agent --json 'You can do it.'

Exit codes: 0 screened (with any result), 2 invalid input, or the daemon does not respond.";

/// Check the helplines that this build shows.
#[derive(Parser)]
#[command(name = "countersign helplines", bin_name = "countersign helplines")]
#[command(
    after_help = "Examples:\n  countersign helplines check\n  countersign helplines check --country DE --json\n\nExit codes: 0 up to date, 1 the numbers have to be checked again, 2 an error."
)]
pub struct Helplines {
    /// The action.
    #[command(subcommand)]
    pub what: HelplinesWhat,
}

/// The actions of `helplines`.
#[derive(Subcommand)]
pub enum HelplinesWhat {
    /// List the helplines, when they were checked, and whether that is due again.
    Check {
        /// Only this country, as a two-letter code.
        #[arg(long, value_name = "CC")]
        country: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Compute which calls of a list may run in parallel.
#[derive(Parser)]
#[command(name = "countersign plan", bin_name = "countersign plan")]
#[command(after_help = PLAN_EXAMPLES)]
pub struct PlanArgs {
    /// Read one list of calls per line from standard input; write one JSON plan per line.
    #[arg(long, required = true)]
    pub batch: bool,
    /// Where the calls would run.
    #[command(flatten)]
    pub context: CallContext,
}

const PLAN_EXAMPLES: &str = "\
Examples:
  echo '[{\"command\": \"ls\"}, {\"command\": \"cat notes.txt\"}]' | countersign plan --batch
  echo '{\"calls\": [{\"command\": \"ls\"}]}' | countersign plan --batch

Calls that only read may run in parallel; writes, sends and delegations keep their order.
Exit codes: 0 success, 2 invalid input.";

/// List, explain and check the rules.
#[derive(Parser)]
#[command(name = "countersign rules", bin_name = "countersign rules")]
#[command(after_help = RULES_EXAMPLES)]
pub struct Rules {
    /// The action.
    #[command(subcommand)]
    pub what: Option<RulesWhat>,
}

/// The actions of `rules`.
#[derive(Subcommand)]
pub enum RulesWhat {
    /// List every rule by family, with its tier and its message.
    List {
        /// Only this family.
        family: Option<String>,
        /// Print JSON, one rule per line.
        #[arg(long)]
        json: bool,
    },
    /// Show one rule with its examples.
    Explain {
        /// The id of the rule.
        id: String,
    },
    /// Run every example and counter-example; exit with 1 if one fails.
    Check {
        /// Only this family.
        family: Option<String>,
    },
}

const RULES_EXAMPLES: &str = "\
Examples:
  countersign rules list git
  countersign rules explain git.push.force
  countersign rules check git

Exit codes: 0 success, 1 an example failed, 2 invalid input.";

/// Evaluate the rules on labelled calls and texts.
///
/// Files are JSON Lines: {"command", "label"}, {"tool", "arguments", "label", "effect"} or
/// {"text", "label", "lang"}; folders are searched for *.jsonl. Expected results by label:
///   dangerous, HIGH, CRITICAL, attack and risky (with effect write or code): at least MEDIUM;
///   CRITICAL: also at least HIGH; benign, SAFE and effect read: SAFE or LOW;
///   MEDIUM, LOW: that tier or a neighbouring one; destructive: at least LOW;
///   crisis, not_crisis: found, not found; any other label: no expectation.
/// Rows with "policy_dependent": true are not counted.
#[derive(Parser)]
#[expect(clippy::doc_markdown, reason = "this text is what --help prints")]
#[command(name = "countersign eval", bin_name = "countersign eval")]
#[command(after_help = EVAL_EXAMPLES, verbatim_doc_comment)]
pub struct Eval {
    /// Labelled files, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How many misses to print per source.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub misses: usize,
    /// Write every row's result as JSON Lines.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a report with plots: one self-contained HTML file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Assess every row in this environment.
    #[arg(long, value_name = "KIND", value_parser = parse_environment)]
    pub env: Option<Environment>,
    /// Assess every row as on a workstation, even if its class is a container build or a CI step.
    #[arg(long, conflicts_with = "env")]
    pub neutral: bool,
    /// Exit with 1 if a target is missed.
    #[arg(long)]
    pub check: bool,
}

const EVAL_EXAMPLES: &str = "\
Examples:
  countersign eval my-calls.jsonl
  countersign eval corpora/ --misses 10 --html report.html
  countersign eval corpora/ --neutral --json rows.jsonl --check

Progress is shown on standard error if that is a terminal.
Exit codes: 0 success, 1 a target was missed (with --check), 2 invalid input.";
