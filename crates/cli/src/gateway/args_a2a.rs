//! Arguments of `countersign a2a` and `countersign pki`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::gate::args::{Asker, PersonArgs, PersonOnly};

/// Delegate tasks between agents over mutual TLS, through the gate.
#[derive(Parser)]
#[command(name = "countersign a2a", bin_name = "countersign a2a", after_help = A2A_EXAMPLES)]
pub struct A2a {
    /// The action.
    #[command(subcommand)]
    pub what: A2aWhat,
}

const A2A_EXAMPLES: &str = "\
Examples:
  countersign a2a serve -- my-agent --json
  countersign a2a serve --endpoint https://agent.example.org/run
  countersign a2a serve --mcp-tool ask -- my-mcp-server
  countersign a2a send --agent bob --task 'Summarize the open issues' --wait
  countersign a2a status --agent bob --task-id 01KABC…
  countersign a2a agents

Agents have certificates of one fleet (`countersign pki --help`). A task waits until the gate of its
receiver has approved it; sending one passes the sender's gate as well.
Exit codes: 0 success, 1 the task was refused or failed, 2 an error.";

/// The actions of `a2a`.
#[derive(Subcommand)]
pub enum A2aWhat {
    /// Take tasks of other agents and run them.
    Serve(A2aServe),
    /// Send a task to another agent.
    Send(A2aSend),
    /// Show the state of a task that was sent.
    Status(A2aTask),
    /// Cancel a task that was sent.
    Cancel(A2aTask),
    /// Show the card of another agent.
    Card(RemoteArgs),
    /// List the agents in the registry.
    Agents {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// The certificate files of an agent.
#[derive(Args, Clone, Default)]
pub struct IdentityArgs {
    /// This agent's name [default: `COUNTERSIGN_AGENT_NAME` or the only one with a certificate]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Certificate [default: `COUNTERSIGN_A2A_CERT` or pki/agents/NAME/NAME.crt]
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// Its private key [default: `COUNTERSIGN_A2A_KEY` or pki/agents/NAME/NAME.key]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// The fleet's authority [default: `COUNTERSIGN_A2A_CA` or pki/ca/fleet-ca.crt]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Agent API of the daemon with the authority [default: `COUNTERSIGN_A2A_AUTHORITY`, --agents]
    #[arg(long, value_name = "ADDR")]
    pub authority: Option<String>,
}

/// Take tasks of other agents.
#[derive(Args)]
pub struct A2aServe {
    /// The address to listen on [default: `COUNTERSIGN_A2A_HOST` or 127.0.0.1]
    #[arg(long, value_name = "ADDR")]
    pub host: Option<std::net::IpAddr>,
    /// The port [default: `COUNTERSIGN_A2A_PORT` or 9443]
    #[arg(long)]
    pub port: Option<u16>,
    /// The address that others use [default: https://HOST:PORT]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// What this agent does, for its card.
    #[arg(long, value_name = "TEXT", default_value = "Runs tasks after a person's approval")]
    pub description: String,
    /// Leave the members of older protocol versions out of the card.
    #[arg(long)]
    pub strict_card: bool,
    /// How long one task may run, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub time_limit: u64,
    /// How much address space one task may use, in MiB [default: no limit]
    #[arg(long, value_name = "MIB")]
    pub memory_limit: Option<u64>,
    /// How many tasks run at once.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub concurrent: usize,
    /// What each agent may ask [default: `a2a_peers.toml` beside the configuration, if it exists]
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// How often a task may have been delegated on its way here.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub max_depth: usize,
    /// How long a person has to answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub deadline: u32,
    /// How long the sender of a task has to answer its question, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
    pub answer_within: u64,
    /// Refuse every agent once the list of revoked certificates is older, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(30..=600))]
    pub revocation_age: u64,
    /// The file of tasks [default: in the state folder of the gateways]
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<PathBuf>,
    /// The certificate files.
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// The agent API and the agent.
    #[command(flatten)]
    pub asker: Asker,
    /// What runs tasks instead of a program, and who is told about them.
    #[command(flatten)]
    pub executor: ExecutorArgs,
    /// The program that runs a task (JSON on its standard input), and its arguments.
    #[arg(last = true, required_unless_present = "endpoint", value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// What runs tasks instead of a program, and who is told about them.
#[derive(Args)]
pub struct ExecutorArgs {
    /// Post tasks to this URL instead of starting a program.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub endpoint: Option<String>,
    /// The file of a bearer token for the endpoint.
    #[arg(long, value_name = "FILE", requires = "endpoint")]
    pub endpoint_token: Option<String>,
    /// Let the endpoint be on this machine or in a private network.
    #[arg(long, requires = "endpoint")]
    pub endpoint_private: bool,
    /// PROGRAM is an MCP server; its tool with this name runs tasks.
    #[arg(long, value_name = "NAME", conflicts_with = "endpoint")]
    pub mcp_tool: Option<String>,
    /// The argument of the tool that gets the text of a task.
    #[arg(long, value_name = "NAME", default_value = "task", requires = "mcp_tool")]
    pub mcp_argument: String,
    /// Let push notifications reach this machine and private networks.
    #[arg(long)]
    pub push_private: bool,
}

/// Which remote agent.
#[derive(Args)]
pub struct RemoteArgs {
    /// The agent's name in the registry, or its https address.
    #[arg(long, value_name = "NAME|URL")]
    pub agent: String,
    /// Its address, whatever the registry says.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// The certificate files.
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// The agent API and the agent.
    #[command(flatten)]
    pub asker: Asker,
}

/// Send a task.
#[derive(Args)]
pub struct A2aSend {
    /// What to do.
    #[arg(long, value_name = "TEXT")]
    pub task: String,
    /// The task that asked a question; --task is the answer.
    #[arg(long, value_name = "ID")]
    pub task_id: Option<String>,
    /// A label for the receiver; it proves nothing.
    #[arg(long, value_name = "TEXT")]
    pub requester: Option<String>,
    /// Further data for the receiver, a JSON object; both gates show it.
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
    /// Wait until the task has ended or asks a question.
    #[arg(long)]
    pub wait: bool,
    /// How long to wait, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    pub timeout: f64,
    /// The pause between two looks, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    pub poll_interval: f64,
    /// The remote agent.
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// A task that was sent.
#[derive(Args)]
pub struct A2aTask {
    /// Its id.
    #[arg(long, value_name = "ID")]
    pub task_id: String,
    /// The remote agent.
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// Manage the certificates of a fleet of agents.
#[derive(Parser)]
#[command(name = "countersign pki", bin_name = "countersign pki", after_help = PKI_EXAMPLES)]
pub struct Pki {
    /// The action.
    #[command(subcommand)]
    pub what: PkiWhat,
}

const PKI_EXAMPLES: &str = "\
Examples:
  countersign pki init
  countersign pki issue alice --host alice.example.org --host 10.0.0.7
  countersign pki list
  countersign pki revoke alice
  countersign pki renew --name alice

The daemon keeps the authority's key. Setting up, issuing and revoking need your passphrase, and
each has an entry in the ledger. Certificates are valid for a week by default and renew themselves
while `countersign a2a serve` runs. A revoked certificate is refused within a minute.
Exit codes: 0 success, 2 an error.";

/// The actions of `pki`.
#[derive(Subcommand)]
pub enum PkiWhat {
    /// Set up the fleet's authority, new or from existing files.
    Init {
        /// The name of a new authority.
        #[arg(long, value_name = "TEXT", conflicts_with = "ca_cert")]
        fleet: Option<String>,
        /// The certificate of an existing authority, in PEM.
        #[arg(long, value_name = "FILE", requires = "ca_key")]
        ca_cert: Option<PathBuf>,
        /// Its private key, in PEM and PKCS #8.
        #[arg(long, value_name = "FILE", requires = "ca_cert")]
        ca_key: Option<PathBuf>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Issue a certificate; the key is made here and stays here.
    Issue {
        /// The agent's name.
        agent: String,
        /// A host name or address at which it serves; localhost by default.
        #[arg(long = "host", value_name = "HOST")]
        hosts: Vec<String>,
        /// How long the certificate is valid, in days.
        #[arg(long, value_name = "N", default_value_t = 7)]
        days: u32,
        /// The folder for the files [default: pki beside the configuration file]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Revoke every certificate of an agent, or one by its serial number.
    Revoke(crate::gate::args::NamedArgs),
    /// List the certificates.
    List(PersonOnly),
    /// Renew this agent's certificate at the authority.
    Renew {
        /// The certificate files.
        #[command(flatten)]
        identity: IdentityArgs,
        /// The agent API.
        #[arg(long, value_name = "ADDR")]
        agents: Option<String>,
    },
}
