//! Arguments of `people`, `agents`, `crises`, `freeze` and `thaw`.

use clap::{Parser, Subcommand};

use super::args::{NamedArgs, PersonArgs, PersonOnly};

/// Manage the people who may decide.
#[derive(Parser)]
#[command(name = "countersign people", bin_name = "countersign people")]
#[command(
    after_help = PEOPLE_EXAMPLES
)]
pub struct PeopleArgs {
    /// The action.
    #[command(subcommand)]
    pub what: PeopleWhat,
}

const PEOPLE_EXAMPLES: &str = "\
Examples:
  countersign people add ana
  countersign people add ops --administrator
  countersign people revoke ana
  countersign people passphrase owner     a new passphrase for yourself
  countersign people recover ana          on the daemon's host, if ana lost her passphrase

Every change prompts for your passphrase: a token alone cannot change anything. If you have a
passkey, make changes in the web inbox. New people can approve after a waiting period
([people] waiting_seconds), and no person can approve requests that are older than their account.
Exit codes: 0 success, 2 an error.";

/// The actions of `people`.
#[derive(Subcommand)]
pub enum PeopleWhat {
    /// List the people who may decide.
    List(PersonOnly),
    /// Add a person; the passphrase is shown only once.
    Add {
        /// Their name.
        name: String,
        /// The person may also manage people, agents and grants.
        #[arg(long)]
        administrator: bool,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Revoke a person's rights; their sessions end immediately.
    Revoke(NamedArgs),
    /// Change a person's role.
    Role {
        /// Their name.
        name: String,
        /// The role: approver or administrator.
        #[arg(value_parser = ["approver", "administrator"])]
        role: String,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Create a new passphrase for yourself; it is shown only once.
    Passphrase(NamedArgs),
    /// Create a recovery code on the daemon's host, for a person who lost the passphrase.
    Recover {
        /// Their name.
        name: String,
        /// Also remove the person's passkeys, if they are lost too.
        #[arg(long)]
        remove_passkeys: bool,
        /// The daemon's state directory [default: `COUNTERSIGN_STATE` or the standard path]
        #[arg(long, value_name = "DIR")]
        state: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Send a recovery code to a linked account of a person, who alone can read it.
    SendCode(NamedArgs),
    /// Exchange a recovery code for a new passphrase, which is shown only once.
    UseCode(NamedArgs),
    /// List your sessions.
    Sessions(PersonOnly),
    /// End one of your sessions, by its id from `people sessions`.
    EndSession(NamedArgs),
}

/// Manage agents and their tokens.
#[derive(Parser)]
#[command(name = "countersign agents", bin_name = "countersign agents")]
#[command(
    after_help = "Examples:\n  countersign agents add my-agent --days 90\n  countersign agents add builder --uid 1002\n  countersign agents revoke my-agent\n  countersign agents quarantine --lift my-agent\n\nExit codes: 0 success, 2 an error."
)]
pub struct AgentsArgs {
    /// The action.
    #[command(subcommand)]
    pub what: AgentsWhat,
}

/// The actions of `agents`.
#[derive(Subcommand)]
pub enum AgentsWhat {
    /// List all agents.
    List(PersonOnly),
    /// Add an agent; the token is shown only once.
    Add {
        /// Its name.
        name: String,
        /// The Unix user that connects to the socket.
        #[arg(long)]
        uid: Option<u32>,
        /// An address of the agent's user, for grants with --to-self; can be repeated.
        #[arg(long = "own-address", value_name = "ADDRESS")]
        own_addresses: Vec<String>,
        /// For how many days the token is valid.
        #[arg(long)]
        days: Option<u32>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Revoke an agent; its token becomes invalid immediately.
    Revoke(NamedArgs),
    /// Create a new token for an agent; it is shown only once and replaces the old one.
    Token(NamedArgs),
    /// List agents that may not ask, because people denied their requests too often.
    Quarantine {
        /// End the quarantine of this agent, so that it may ask again.
        #[arg(long, value_name = "AGENT")]
        lift: Option<String>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
}

/// List and resolve sessions in crisis.
#[derive(Parser)]
#[command(name = "countersign crises", bin_name = "countersign crises")]
#[command(
    after_help = "Examples:\n  countersign crises list\n  countersign crises report --from 2026-01-01 --to 2026-12-31 --csv\n  countersign crises resolve my-agent chat-7 --reason 'spoke with them, they are safe'\n\nExit codes: 0 success, 2 an error."
)]
pub struct CrisesArgs {
    /// The action.
    #[command(subcommand)]
    pub what: CrisesWhat,
}

/// What to report.
#[derive(clap::Args)]
pub struct ReportArgs {
    /// The first day (2026-11-17) or time (2026-11-17T08:00:00Z), in UTC.
    #[arg(long, value_name = "DATE")]
    pub from: Option<String>,
    /// The last day, or the time at which the report ends.
    #[arg(long, value_name = "DATE")]
    pub to: Option<String>,
    /// Print comma-separated values.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Entries as JSON Lines (`-` for standard input), instead of those of the daemon.
    #[arg(long, value_name = "FILE", conflicts_with = "store")]
    pub file: Option<String>,
    /// The file of the store, instead of the daemon; it is only read.
    #[arg(long, value_name = "FILE")]
    pub store: Option<String>,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// The actions of `crises`.
#[derive(Subcommand)]
pub enum CrisesWhat {
    /// List sessions in crisis.
    List(PersonOnly),
    /// Count cards, crises and answers from the ledger, without any content.
    Report(ReportArgs),
    /// Take over a conversation: nothing of the agent is sent, and you write to the user.
    TakeOver {
        /// The agent of the session.
        agent: String,
        /// The session.
        session: String,
        /// What to write to the user.
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Resolve a crisis: the session is treated as any other again.
    #[command(alias = "lift")]
    Resolve {
        /// The agent of the session.
        agent: String,
        /// The session.
        session: String,
        /// The reason.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
}

/// Stop every call: deny all pending requests, refuse new calls, suspend grants and permits.
#[derive(Parser)]
#[command(name = "countersign freeze", bin_name = "countersign freeze")]
#[command(after_help = FREEZE_EXAMPLES)]
pub struct FreezeArgs {
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

const FREEZE_EXAMPLES: &str = "\
Examples:
  countersign freeze
  countersign freeze --token-file ~/.countersign-token

A token is enough, because a freeze only stops calls. `countersign thaw` ends it.
Exit codes: 0 everything is frozen, 2 an error.";

/// End a stage of a freeze: first people decide again, then grants resume.
#[derive(Parser)]
#[command(name = "countersign thaw", bin_name = "countersign thaw")]
#[command(
    after_help = "Examples:\n  countersign thaw people\n  countersign thaw grants\n\nRequires your passphrase or passkey.\nExit codes: 0 success, 2 an error."
)]
pub struct ThawArgs {
    /// What resumes.
    pub resume: Resume,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

/// What resumes after a freeze, in this order.
#[derive(clap::ValueEnum, Clone, Copy)]
pub enum Resume {
    /// Calls are asked about and people decide again.
    People,
    /// Grants and permits from before the freeze count again.
    Grants,
}

impl Resume {
    /// The word in the API.
    pub const fn word(self) -> &'static str {
        match self {
            Resume::People => "people",
            Resume::Grants => "grants",
        }
    }
}
