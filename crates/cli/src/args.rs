//! What can be said on the command line. Only the command that was named is built.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::core_api::{Environment, Platform, Tier};
use crate::gate::{args as gate, args_channel as channel, args_house as house};
use crate::gateway::args as gateway;
use crate::gateway::args_mcp;

/// A human-confirmation firewall for AI agents.
///
/// Every tool call is judged before it runs; a risky one waits until a person answers.
#[derive(Parser)]
#[command(name = "countersign", version, after_help = gateway::with_agent(TOP_EXAMPLES))]
pub struct Top {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Start the daemon: the gate, the agent API and the people API.
    Serve(gate::Serve),
    /// Install the gate in an agent's own configuration.
    Install(gateway::Install),
    /// Remove the gate from an agent's configuration.
    Uninstall(gateway::Uninstall),
    /// Report for every agent whether it is protected.
    Status(gateway::Status),
    /// Ask a person whether something may be done, and wait for the answer.
    Ask(gate::Ask),
    /// See what waits and answer it, on the whole screen.
    Inbox(gate::Inbox),
    /// List what waits for an answer.
    Pending(gate::Pending),
    /// Show one request with everything there is to know.
    Show(gate::Show),
    /// Say yes: the call may run, once.
    Approve(gate::Approve),
    /// Say no: the call does not run.
    Deny(gate::Deny),
    /// Take back a request that waits.
    Cancel(gate::Cancel),
    /// Follow what happens, as it happens.
    Watch(gate::Watch),
    /// List requests of the past, newest first.
    History(gate::History),
    /// Counts and times.
    Stats(gate::Stats),
    /// Get a token, so that your passphrase is not asked for each time.
    Login(gate::Login),
    /// Who may answer.
    People(gate::People),
    /// Who may ask.
    Agents(gate::Agents),
    /// Standing permissions.
    Grants(gate::Grants),
    /// Sessions in which somebody may be in crisis.
    Crises(gate::Crises),
    /// Channels: how people are reached, and who answers through them.
    Channel(channel::Channel),
    /// The ledger: read it, verify it, prove an entry, export it.
    Ledger(house::Ledger),
    /// Permits: check one without asking anybody.
    Permit(house::Permit),
    /// The configuration: check it, or see an example.
    Config(house::Config),
    /// Report how well this installation protects you, and how to improve it.
    Doctor(house::Doctor),
    /// Answer an agent's hook, which the agent starts before each tool call.
    Hook(gateway::Hook),
    /// Stand between an MCP client and an MCP server: every tool call is judged first.
    Mcp(args_mcp::Mcp),
    /// Say what a call would do, how risky that is, and why.
    Assess(Assess),
    /// Look for signs of a person in crisis in a text.
    Screen(Screen),
    /// Say which calls of a list may run side by side.
    Plan(Plan),
    /// List, explain and check the rules.
    Rules(Rules),
    /// Measure the judgement on labelled calls and texts.
    Eval(Eval),
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

Exit codes: 0 done, 1 no (denied, expired, a check failed), 2 bad input, no daemon or another error
(one line on standard error says what).";

/// Say what a call would do, how risky that is, and why.
#[derive(Parser, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag a person may set")]
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
    /// One JSON object a line from standard input, one JSON record a line out.
    #[arg(long, conflicts_with_all = ["command", "tool", "args", "all", "exit_code"])]
    pub batch: bool,
    /// The whole record as JSON.
    #[arg(long)]
    pub json: bool,
    /// Every reason and the whole call.
    #[arg(long)]
    pub all: bool,
    /// End with 0 allow, 10 ask, 11 deny, 12 crisis.
    #[arg(long)]
    pub exit_code: bool,
    /// The tier the caller claims; it can only raise.
    #[arg(long, value_name = "TIER", value_parser = read_tier)]
    pub claimed: Option<Tier>,
    /// Where it would happen.
    #[command(flatten)]
    pub place: Place,
}

/// Where a call would happen.
#[derive(Args, Clone, Default)]
pub struct Place {
    /// The agent's surface: cli, api, telegram or discord; others count as api.
    #[arg(long, value_name = "NAME")]
    pub platform: Option<String>,
    /// The working directory.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// The kind of machine: workstation, production, ci or container.
    #[arg(long, value_name = "KIND", value_parser = read_environment)]
    pub env: Option<Environment>,
}

impl Place {
    /// The platform, if one was named.
    pub fn platform(&self) -> Option<Platform> {
        self.platform.as_deref().map(Platform::parse)
    }
}

fn read_environment(text: &str) -> Result<Environment, String> {
    Environment::parse(text)
        .ok_or_else(|| "use workstation, production, ci or container".to_owned())
}

fn read_tier(text: &str) -> Result<Tier, String> {
    Tier::parse(text).ok_or_else(|| "use SAFE, LOW, MEDIUM, HIGH or CRITICAL".to_owned())
}

const ASSESS_EXAMPLES: &str = "\
Examples:
  countersign assess 'git push --force origin main'
  countersign assess 'apt-get install -y jq' --env container
  countersign assess --tool send_email --args @mail.json --json
  echo '{\"command\": \"ls\"}' | countersign assess --batch

A batch line is {\"command\": \"…\"} or {\"tool\": \"…\", \"arguments\": {…}}; other fields
are passed over. A bad line is answered with {\"error\": …, \"line\": N} and the run goes on.
--platform, --cwd and --env, when given, hold for every line.

Exit codes: 0 assessed, 2 bad input; with --exit-code 0 allow, 10 ask, 11 deny, 12 crisis.";

/// Look for signs of a person in crisis in a text.
#[derive(Parser)]
#[command(name = "countersign screen", bin_name = "countersign screen")]
#[command(after_help = SCREEN_EXAMPLES)]
pub struct Screen {
    /// The text; `-` reads it from standard input.
    pub text: Option<String>,
    /// One {"text": …} a line from standard input, one JSON record a line out.
    #[arg(long, conflicts_with = "text")]
    pub batch: bool,
    /// The whole record as JSON.
    #[arg(long)]
    pub json: bool,
    /// Whose helplines to show: a country's two letters.
    #[arg(long, value_name = "CC")]
    pub country: Option<String>,
    /// The wording of the reply: neutral or soul.
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
}

const SCREEN_EXAMPLES: &str = "\
Examples:
  countersign screen 'this bug makes me want to die lol'
  countersign screen --country DE --json - < message.txt
  echo '{\"text\": \"hello\"}' | countersign screen --batch

Exit codes: 0 screened (whatever was found), 2 bad input.";

/// Say which calls of a list may run side by side.
#[derive(Parser)]
#[command(name = "countersign plan", bin_name = "countersign plan")]
#[command(after_help = PLAN_EXAMPLES)]
pub struct Plan {
    /// One list of calls a line from standard input, one JSON plan a line out.
    #[arg(long, required = true)]
    pub batch: bool,
    /// Where the calls would happen.
    #[command(flatten)]
    pub place: Place,
}

const PLAN_EXAMPLES: &str = "\
Examples:
  echo '[{\"command\": \"ls\"}, {\"command\": \"cat notes.txt\"}]' | countersign plan --batch
  echo '{\"calls\": [{\"command\": \"ls\"}]}' | countersign plan --batch

Reads may run side by side; writes, sends and delegations keep their order.
Exit codes: 0 done, 2 bad input.";

/// List, explain and check the rules.
#[derive(Parser)]
#[command(name = "countersign rules", bin_name = "countersign rules")]
#[command(after_help = RULES_EXAMPLES)]
pub struct Rules {
    /// What to do with them.
    #[command(subcommand)]
    pub what: Option<RulesWhat>,
}

/// What to do with the rules.
#[derive(Subcommand)]
pub enum RulesWhat {
    /// Every rule by family, with its tier and its sentence.
    List {
        /// Only this family.
        family: Option<String>,
        /// As JSON, one rule a line.
        #[arg(long)]
        json: bool,
    },
    /// One rule with its examples.
    Explain {
        /// The rule's id, as it stands in a record.
        id: String,
    },
    /// Runs every example and counter-example; ends with 1 if one fails.
    Check,
}

const RULES_EXAMPLES: &str = "\
Examples:
  countersign rules list git
  countersign rules explain git.push.force
  countersign rules check";

/// Measure the judgement on labelled calls and texts.
///
/// Files are JSON Lines: {"command", "label"}, {"tool", "arguments", "label", "effect"} or
/// {"text", "label", "lang"}; folders are searched for *.jsonl. What a label is owed:
///   dangerous, HIGH, CRITICAL, attack and risky (with effect write or code): at least MEDIUM;
///   CRITICAL: also at least HIGH; benign, SAFE and effect read: SAFE or LOW;
///   MEDIUM, LOW: that tier, give or take one; destructive: at least LOW;
///   crisis, not_crisis: found, not found; any other label: no bar.
/// Rows with "policy_dependent": true are not counted.
#[derive(Parser)]
#[expect(clippy::doc_markdown, reason = "this text is what --help prints")]
#[command(name = "countersign eval", bin_name = "countersign eval")]
#[command(after_help = EVAL_EXAMPLES, verbatim_doc_comment)]
pub struct Eval {
    /// Labelled files, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How many misses to show per source.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub misses: usize,
    /// Write every row's result as JSON Lines.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a report with plots: one HTML file that needs nothing else.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Judge every row as if on this kind of machine.
    #[arg(long, value_name = "KIND", value_parser = read_environment)]
    pub env: Option<Environment>,
    /// Judge every row as on a workstation, even one whose class says it is a container build or a
    /// CI step.
    #[arg(long, conflicts_with = "env")]
    pub neutral: bool,
    /// End with 1 if a bar is missed.
    #[arg(long)]
    pub check: bool,
}

const EVAL_EXAMPLES: &str = "\
Examples:
  countersign eval my-calls.jsonl
  countersign eval corpora/ --misses 10 --html report.html
  countersign eval corpora/ --neutral --json rows.jsonl --check

Progress is shown on standard error if that is a terminal.
Exit codes: 0 measured, 1 a bar was missed (with --check), 2 bad input.";
