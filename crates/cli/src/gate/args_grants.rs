//! Arguments of `grants`.

use clap::{Parser, Subcommand};
use countersign_workflow::learning::DEFAULT_APPROVALS;

use super::args::{NamedArgs, PersonArgs};

/// Manage grants (standing permissions).
#[derive(Parser)]
#[command(name = "countersign grants", bin_name = "countersign grants")]
#[command(after_help = GRANTS_EXAMPLES)]
pub struct GrantsArgs {
    /// The action.
    #[command(subcommand)]
    pub what: GrantsWhat,
}

const GRANTS_EXAMPLES: &str = "\
Examples:
  countersign grants list
  countersign grants give write_file --agent my-agent --minutes 60
  countersign grants give send_email --target team@example.com --uses 10
  countersign grants give terminal --target 'git push origin' --agent my-agent
  countersign grants give mcp__github__create_issue --where repository=acme/shop --where 'title~*'
  countersign grants give terminal --from whitelist.yaml --agent my-agent
  countersign grants shapes 01hf3zq9x8y7w6v5t4s3r2q1p0
  countersign grants allow 01hf3zq9x8y7w6v5t4s3r2q1p0 --pattern 'npm publish <path>' --minutes 60
  countersign grants suggestions
  countersign grants revoke 01hf3zq9x8y7w6v5t4s3r2q1p0

No grant covers CRITICAL calls or calls in a crisis, and a grant without --target or --to-self does
not cover HIGH. For a tool that runs commands, name them with --target: a program and at least one
more word. --from gives a grant for each command of a file, lists what it left out, and then exits
with 1. --where covers calls up to MEDIUM whose arguments are all named: NAME=VALUE (repeat it
for one of several values), NAME<=NUMBER, NAME~* for any text; NAME? may be absent. --spend and
--recipients limit what all calls together may cost and whom they may reach.
Exit codes: 0 success, 2 an error.";

/// The actions of `grants`.
#[derive(Subcommand)]
pub enum GrantsWhat {
    /// List active grants.
    List {
        /// Also list inactive grants.
        #[arg(long)]
        all: bool,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Create a grant: calls of a tool pass without approval.
    Give(GiveArgs),
    /// Show which commands like that of a request could have a grant, and what it would also allow.
    Shapes(ShapesArgs),
    /// Create a grant for commands or tool calls like that of a request.
    Allow(AllowArgs),
    /// List calls that people approved many times in a row, and that could have a grant.
    Suggestions(SuggestionsArgs),
    /// Give the grant of a suggestion, for exactly the approved call.
    Accept(AcceptArgs),
    /// Revoke a grant.
    Revoke(NamedArgs),
}

/// The request whose command could have a grant.
#[derive(clap::Args)]
pub struct ShapesArgs {
    /// The id of the request, the start of the id, or the two words.
    pub request: String,
    /// Commands of this form; holes are `<number>`, `<word>`, `<path>`, `<package>` and `<url>`.
    #[arg(long)]
    pub pattern: Option<String>,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// A grant for commands of one form.
#[derive(clap::Args)]
pub struct AllowArgs {
    /// The id of the request, the start of the id, or the two words.
    pub request: String,
    /// Commands of this form; holes are `<number>`, `<word>`, `<path>`, `<package>` and `<url>`.
    #[arg(long, required_unless_present = "conditions", conflicts_with = "conditions")]
    pub pattern: Option<String>,
    /// Calls of this tool whose argument is as said; the others stay as shown. Can be repeated.
    #[arg(long = "where", value_name = "CONDITION")]
    pub conditions: Vec<String>,
    /// For every agent, not only that of the request.
    #[arg(long)]
    pub any_agent: bool,
    /// For this many minutes; 30 days if not given.
    #[arg(long)]
    pub minutes: Option<u32>,
    /// For this many calls.
    #[arg(long)]
    pub uses: Option<u32>,
    /// For this many calls in an hour.
    #[arg(long, value_name = "N")]
    pub per_hour: Option<u32>,
    /// For this much money in all: the argument, the currency that calls must name, the sum.
    #[arg(long, value_name = "ARGUMENT:CURRENCY:LIMIT", requires = "conditions")]
    pub spend: Option<String>,
    /// For this many different recipients in all.
    #[arg(long, value_name = "N", requires = "conditions")]
    pub recipients: Option<u32>,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// How often a call must have been approved.
#[derive(clap::Args)]
pub struct SuggestionsArgs {
    /// How many approvals in a row; a denial starts again from zero.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_APPROVALS)]
    pub approvals: u32,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// A suggestion to accept.
#[derive(clap::Args)]
pub struct AcceptArgs {
    /// The id that `grants suggestions` lists.
    pub request: String,
    /// How many approvals in a row; a denial starts again from zero.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_APPROVALS)]
    pub approvals: u32,
    /// For this many minutes; 30 days if not given.
    #[arg(long)]
    pub minutes: Option<u32>,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// A grant for calls of a tool.
#[derive(clap::Args)]
pub struct GiveArgs {
    /// The tool.
    pub tool: String,
    /// Only for this recipient or command; can be repeated.
    #[arg(long = "target", value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Only if the argument is as said; all others must be absent. Can be repeated.
    #[arg(long = "where", value_name = "CONDITION", conflicts_with_all = ["targets", "to_self"])]
    pub conditions: Vec<String>,
    /// Only for messages to the agent's own user.
    #[arg(long, conflicts_with = "targets")]
    pub to_self: bool,
    /// Only for the commands in a whitelist file in YAML (`pattern`, `scope`), a grant for each.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["targets", "to_self", "conditions"])]
    pub from: Option<std::path::PathBuf>,
    /// Only for this agent.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only in this session.
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// For this many minutes.
    #[arg(long)]
    pub minutes: Option<u32>,
    /// For this many calls.
    #[arg(long)]
    pub uses: Option<u32>,
    /// For this many calls in an hour.
    #[arg(long, value_name = "N")]
    pub per_hour: Option<u32>,
    /// For this much money in all: the argument, the currency that calls must name, the sum.
    #[arg(long, value_name = "ARGUMENT:CURRENCY:LIMIT", requires = "conditions")]
    pub spend: Option<String>,
    /// For this many different recipients in all.
    #[arg(long, value_name = "N", requires = "conditions")]
    pub recipients: Option<u32>,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}
