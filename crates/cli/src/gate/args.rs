//! What can be said to the commands that speak with the daemon.

use clap::{Args, Parser, Subcommand};

/// How to reach the people API, and as whom.
#[derive(Args, Clone, Default)]
pub struct Person {
    /// The people API; else `COUNTERSIGN_PEOPLE`, else the configuration's.
    #[arg(long, value_name = "ADDR")]
    pub people: Option<String>,
    /// Whose passphrase is asked for, where there is no token.
    #[arg(long = "as", value_name = "NAME", default_value = "owner")]
    pub whose: String,
    /// A file with your token, readable by you alone; else `COUNTERSIGN_TOKEN`.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<String>,
    /// A private file with your passphrase, or `-` for standard input; else asked.
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// How to reach the agent API.
#[derive(Args, Clone, Default)]
pub struct Asker {
    /// The agent API; else `COUNTERSIGN_AGENTS`, else the configuration's.
    #[arg(long, value_name = "ADDR")]
    pub agents: Option<String>,
    /// A file with the agent's token; else `COUNTERSIGN_AGENT_TOKEN`, else none.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// Start the daemon: the gate, the agent API and the people API.
#[derive(Parser)]
#[command(name = "countersign serve", bin_name = "countersign serve")]
#[command(after_help = SERVE_EXAMPLES)]
pub struct Serve {
    /// The configuration; else `COUNTERSIGN_CONFIG`, else the usual place.
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// The folder of the store, the keys and the socket; else `COUNTERSIGN_STATE`.
    #[arg(long, value_name = "DIR")]
    pub state: Option<String>,
    /// Where agents ask, such as 127.0.0.1:6000; port 0 takes any free one.
    #[arg(long, value_name = "ADDR")]
    pub agents: Option<String>,
    /// Where people answer, such as 127.0.0.1:6001; port 0 takes any free one.
    #[arg(long, value_name = "ADDR")]
    pub people: Option<String>,
    /// What is logged: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// Try the agents' gates after so many seconds and so often, whatever the configuration says.
    #[arg(long, hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub prove_every: Option<u32>,
    /// One line of JSON with the addresses, for programs.
    #[arg(long)]
    pub json: bool,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  countersign serve
  countersign serve --state /var/lib/countersign --config /etc/countersign.toml
  countersign serve --agents 127.0.0.1:0 --people 127.0.0.1:0 --json

The passphrase of `owner` is shown at the first start only, and kept nowhere.
SIGTERM or Ctrl-C stops in order (a second one at once); SIGHUP reads the configuration again.
Exit codes: 0 stopped in order, 2 did not start or could not write.";

/// Ask a person whether something may be done, and wait for the answer.
#[derive(Parser)]
#[command(name = "countersign ask", bin_name = "countersign ask")]
#[command(after_help = ASK_EXAMPLES)]
pub struct Ask {
    /// What would be done: the tool's or action's name, such as `send_email`.
    #[arg(long, value_name = "NAME", required_unless_present = "command")]
    pub action: Option<String>,
    /// Your own words for the person who answers.
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The arguments: a JSON object, `@file` or `-` for standard input.
    #[arg(long, value_name = "JSON", requires = "action")]
    pub payload: Option<String>,
    /// A shell command instead of an action.
    #[arg(long, value_name = "COMMAND", conflicts_with = "action")]
    pub command: Option<String>,
    /// The risk you see: SAFE to CRITICAL, or low, medium, high; it can only raise.
    #[arg(long, value_name = "TIER")]
    pub risk: Option<String>,
    /// The session it belongs to.
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// How long to wait, in seconds; 300 if nothing is said.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u32>,
    /// Where and as whom to ask.
    #[command(flatten)]
    pub asker: Asker,
}

const ASK_EXAMPLES: &str = "\
Examples:
  countersign ask --action send_email --description 'weekly report' \\
      --payload '{\"to\": \"team@example.com\"}' && ./send-report
  countersign ask --command 'git push --force' --timeout 120

One plain line says what was decided. No answer, no daemon and every error mean no.
Exit codes: 0 approved, 1 denied, expired or cancelled, 2 an error or no daemon.";

/// Take back a request that waits.
#[derive(Parser)]
#[command(name = "countersign cancel", bin_name = "countersign cancel")]
#[command(after_help = "Exit codes: 0 taken back, 2 it was over already, or an error.")]
pub struct Cancel {
    /// The request: its id, the start of it, or its two words.
    pub request: String,
    /// Where and as whom.
    #[command(flatten)]
    pub asker: Asker,
}

/// See what waits and answer it, on the whole screen.
#[derive(Parser)]
#[command(name = "countersign inbox", bin_name = "countersign inbox")]
#[command(after_help = INBOX_EXAMPLES)]
pub struct Inbox {
    /// Without the screen: list what waits, then ask line by line.
    #[arg(long)]
    pub plain: bool,
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

const INBOX_EXAMPLES: &str = "\
Examples:
  countersign inbox
  countersign inbox --token-file ~/.countersign-token
  countersign inbox --plain

j and k move, Enter opens, a approves, d denies, ? lists all keys. Enter alone approves nothing:
after a, HIGH takes one of its two words, CRITICAL takes your reason.
Where there is no terminal it is plain by itself: y approves, n denies, anything else leaves it
waiting; what is HIGH or CRITICAL is then never approved from a pipe.
Exit codes: 0 done, 2 an error.";

/// List what waits for an answer.
#[derive(Parser)]
#[command(name = "countersign pending", bin_name = "countersign pending")]
#[command(after_help = PENDING_EXAMPLES)]
pub struct Pending {
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

const PENDING_EXAMPLES: &str = "\
Examples:
  countersign pending
  countersign pending --json

Your passphrase is asked for on the terminal unless COUNTERSIGN_TOKEN or --token-file is given.
Exit codes: 0 listed, 2 an error.";

/// Show one request with everything there is to know.
#[derive(Parser)]
#[command(name = "countersign show", bin_name = "countersign show")]
#[command(
    after_help = "Examples:\n  countersign show olive-tractor\n  countersign show 01hf3z --all\n\nExit codes: 0 shown, 2 an error."
)]
pub struct Show {
    /// The request: its id, the start of it (4 letters or more), or its two words.
    pub request: String,
    /// Every reason and the whole call.
    #[arg(long)]
    pub all: bool,
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

/// Say yes: the call may run, once.
#[derive(Parser)]
#[command(name = "countersign approve", bin_name = "countersign approve")]
#[command(after_help = APPROVE_EXAMPLES)]
pub struct Approve {
    /// The request: its id, the start of it (4 letters or more), or its two words.
    #[arg(required_unless_present = "all")]
    pub request: Option<String>,
    /// Everything that waits, after you have seen each of them.
    #[arg(long, conflicts_with_all = ["request", "for_session", "minutes", "yes"])]
    pub all: bool,
    /// Why. CRITICAL calls need one.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Also let exactly this call pass for the rest of the agent's session.
    #[arg(long, conflicts_with = "minutes")]
    pub for_session: bool,
    /// Also let exactly this call pass for so many minutes.
    #[arg(long = "for", value_name = "MINUTES")]
    pub minutes: Option<u32>,
    /// Do not ask again; you have seen it.
    #[arg(long)]
    pub yes: bool,
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

const APPROVE_EXAMPLES: &str = "\
Examples:
  countersign approve olive-tractor
  countersign approve 01hf3zq9 --reason 'the release we agreed on'
  countersign approve olive-tractor --for 30
  countersign approve --all

What you approve is shown first; a bare Enter means no.
Exit codes: 0 approved (or one vote of several given), 1 not approved, 2 an error.";

/// Say no: the call does not run.
#[derive(Parser)]
#[command(name = "countersign deny", bin_name = "countersign deny")]
#[command(
    after_help = "Examples:\n  countersign deny olive-tractor --reason 'wrong branch'\n\nThe agent is told your reason.\nExit codes: 0 denied, 2 an error."
)]
pub struct Deny {
    /// The request: its id, the start of it (4 letters or more), or its two words.
    pub request: String,
    /// Why; the agent is told.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

/// Follow what happens, as it happens.
#[derive(Parser)]
#[command(name = "countersign watch", bin_name = "countersign watch")]
#[command(
    after_help = "A line for each thing that happens; Ctrl-C ends it.\nExit codes: 2 an error."
)]
pub struct Watch {
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

/// List requests of the past, newest first.
#[derive(Parser)]
#[command(name = "countersign history", bin_name = "countersign history")]
#[command(after_help = HISTORY_EXAMPLES)]
pub struct History {
    /// pending, approved, denied, expired or cancelled.
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// Only this agent's.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// With this text in the call, its two words, agent, session or id.
    #[arg(long, value_name = "TEXT")]
    pub q: Option<String>,
    /// Only requests older than this one.
    #[arg(long, value_name = "ID")]
    pub before: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

const HISTORY_EXAMPLES: &str = "\
Examples:
  countersign history --state denied --limit 20
  countersign history --agent my-agent --q deploy

Exit codes: 0 listed, 2 an error.";

/// Counts and times: what passed, what was asked, how long answers took.
#[derive(Parser)]
#[command(name = "countersign stats", bin_name = "countersign stats")]
#[command(after_help = "Exit codes: 0 shown, 2 an error.")]
pub struct Stats {
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

/// Get a token, so that your passphrase is not asked for each time.
#[derive(Parser)]
#[command(name = "countersign login", bin_name = "countersign login")]
#[command(after_help = LOGIN_EXAMPLES)]
pub struct Login {
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

const LOGIN_EXAMPLES: &str = "\
Examples:
  countersign login
  umask 077; countersign login --json | jq -r .token > ~/.countersign-token

Whoever has the token can answer in your name until it ends. Never start an agent from a shell
that has it. `countersign login` prints it; nothing is kept on disk.
Exit codes: 0 logged in, 2 an error.";

/// Who may answer.
#[derive(Parser)]
#[command(name = "countersign people", bin_name = "countersign people")]
#[command(
    after_help = PEOPLE_EXAMPLES
)]
pub struct People {
    /// What to do.
    #[command(subcommand)]
    pub what: PeopleWhat,
}

const PEOPLE_EXAMPLES: &str = "\
Examples:
  countersign people add ana
  countersign people add ops --administrator
  countersign people revoke ana
  countersign people passphrase owner     a new passphrase for yourself
  countersign people recover ana          on the daemon's machine, for who lost theirs

Every change asks for your passphrase, even where a token is set: a token alone changes nothing.
Whoever has a passkey makes changes in the inbox. New people wait before they can approve
([people] waiting_seconds), and nobody approves requests that are older than their account.
Exit codes: 0 done, 2 an error.";

/// What to do with people.
#[derive(Subcommand)]
pub enum PeopleWhat {
    /// Everybody who may answer.
    List(PersonOnly),
    /// Add a person; their passphrase is shown once.
    Add {
        /// Their name.
        name: String,
        /// They may also change people, agents and grants.
        #[arg(long)]
        administrator: bool,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
    /// Take a person's rights away; their logins end at once.
    Revoke(Named),
    /// Give a person another role.
    Role {
        /// Their name.
        name: String,
        /// What they may do: approver or administrator.
        #[arg(value_parser = ["approver", "administrator"])]
        role: String,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
    /// A new passphrase for yourself; it is shown once.
    Passphrase(Named),
    /// Issue a recovery code, on the daemon's own machine, for a person who lost their passphrase.
    Recover {
        /// Their name.
        name: String,
        /// Their passkeys end too: for who lost those as well.
        #[arg(long)]
        remove_passkeys: bool,
        /// The daemon's state folder; else `COUNTERSIGN_STATE`, else the usual place.
        #[arg(long, value_name = "DIR")]
        state: Option<String>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Use a recovery code: it becomes a new passphrase, shown once.
    UseCode(Named),
    /// Where you are signed in.
    Sessions(PersonOnly),
    /// End one of your sessions, by its id in `people sessions`.
    EndSession(Named),
}

/// Nothing but who asks.
#[derive(Args)]
pub struct PersonOnly {
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

/// A name, and who asks.
#[derive(Args)]
pub struct Named {
    /// The name.
    pub name: String,
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

/// Who may ask.
#[derive(Parser)]
#[command(name = "countersign agents", bin_name = "countersign agents")]
#[command(
    after_help = "Examples:\n  countersign agents add my-agent --days 90\n  countersign agents add builder --uid 1002\n  countersign agents revoke my-agent\n\nExit codes: 0 done, 2 an error."
)]
pub struct Agents {
    /// What to do.
    #[command(subcommand)]
    pub what: AgentsWhat,
}

/// What to do with agents.
#[derive(Subcommand)]
pub enum AgentsWhat {
    /// Every agent that is known.
    List(PersonOnly),
    /// Add an agent; its token is shown once.
    Add {
        /// Its name.
        name: String,
        /// The Unix user behind the socket.
        #[arg(long)]
        uid: Option<u32>,
        /// An address of the agent's own user, for grants to oneself; may be given again.
        #[arg(long = "own-address", value_name = "ADDRESS")]
        own_addresses: Vec<String>,
        /// How many days its token is good.
        #[arg(long)]
        days: Option<u32>,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
    /// End an agent; its token is worth nothing at once.
    Revoke(Named),
    /// A new token for an agent; it is shown once, and the old one ends.
    Token(Named),
}

/// Standing permissions.
#[derive(Parser)]
#[command(name = "countersign grants", bin_name = "countersign grants")]
#[command(after_help = GRANTS_EXAMPLES)]
pub struct Grants {
    /// What to do.
    #[command(subcommand)]
    pub what: GrantsWhat,
}

const GRANTS_EXAMPLES: &str = "\
Examples:
  countersign grants list
  countersign grants give write_file --agent my-agent --minutes 60
  countersign grants give send_email --target team@example.com --uses 10
  countersign grants give terminal --target 'git push origin' --agent my-agent
  countersign grants revoke 01hf3zq9x8y7w6v5t4s3r2q1p0

No grant covers CRITICAL calls or calls in a crisis, and none by name covers HIGH. A tool that runs
commands is covered by naming them with --target: a program and at least one further word.
Exit codes: 0 done, 2 an error.";

/// What to do with grants.
#[derive(Subcommand)]
pub enum GrantsWhat {
    /// Those in force.
    List {
        /// Those that are over, too.
        #[arg(long)]
        all: bool,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
    /// Let calls of a tool pass without asking.
    Give {
        /// The tool.
        tool: String,
        /// Only if it reaches nobody but these; may be given again.
        #[arg(long = "target", value_name = "WHOM")]
        targets: Vec<String>,
        /// Only if it reaches nobody but the agent's own user.
        #[arg(long, conflicts_with = "targets")]
        to_self: bool,
        /// Only for this agent.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Only in this session.
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
        /// For so long.
        #[arg(long)]
        minutes: Option<u32>,
        /// So often.
        #[arg(long)]
        uses: Option<u32>,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
    /// Take one back.
    Revoke(Named),
}

/// Sessions in which somebody may be in crisis.
#[derive(Parser)]
#[command(name = "countersign crises", bin_name = "countersign crises")]
#[command(
    after_help = "Examples:\n  countersign crises list\n  countersign crises lift my-agent chat-7 --reason 'spoke with them, they are safe'\n\nExit codes: 0 done, 2 an error."
)]
pub struct Crises {
    /// What to do.
    #[command(subcommand)]
    pub what: CrisesWhat,
}

/// What to do with crises.
#[derive(Subcommand)]
pub enum CrisesWhat {
    /// Every session in crisis context.
    List(PersonOnly),
    /// Lift it: the session is treated as any other again.
    Lift {
        /// The agent whose session it is.
        agent: String,
        /// The session.
        session: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
}
