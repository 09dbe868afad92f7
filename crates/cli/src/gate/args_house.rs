//! What can be said to the commands that look after the installation.

use clap::{Parser, Subcommand};

use super::args::Person;

/// Say how well this installation protects you, honestly, and how to do better.
#[derive(Parser)]
#[command(name = "countersign doctor", bin_name = "countersign doctor")]
#[command(after_help = DOCTOR_EXAMPLES)]
pub struct Doctor {
    /// The address of the agent API.
    #[arg(long, value_name = "ADDR")]
    pub agents: Option<String>,
    /// The address of the people API.
    #[arg(long, value_name = "ADDR")]
    pub people: Option<String>,
    /// The folder of the store and the keys.
    #[arg(long, value_name = "DIR")]
    pub state: Option<String>,
    /// The configuration.
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Also start each installed agent, with its gate intact and broken; takes minutes.
    #[arg(long)]
    pub live: bool,
    /// Only test the gates, as `countersign serve` does on its schedule.
    #[arg(long, hide = true, conflicts_with = "live")]
    pub gates: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  countersign doctor
  countersign doctor --live               tests denials and crashed or silent hooks
  sudo -u my-agent countersign doctor     what that user could access

Sends a forbidden call, which nobody is asked about, through the gate of every agent, every MCP
server behind the proxy and the SDKs: protected, not protected or not tested. No MCP server is
started.

Levels: R0 the agent runs as the daemon's own user, R1 the daemon has a user of its own,
R2 the daemon is on another host and whoever runs calls checks permits.
Exit codes: 0 nothing is wrong, 1 something is, 2 an error.";

/// The configuration: check it, or see an example.
#[derive(Parser)]
#[command(name = "countersign config", bin_name = "countersign config")]
#[command(
    after_help = "Examples:\n  countersign config check\n  countersign config example > ~/.config/countersign/countersign.toml\n\nExit codes: 0 it is fine, 1 it is not, 2 an error."
)]
pub struct Config {
    /// What to do.
    #[command(subcommand)]
    pub what: ConfigWhat,
}

/// What to do with the configuration.
#[derive(Subcommand)]
pub enum ConfigWhat {
    /// Read it and say what it means, or what is wrong where.
    Check {
        /// Another file than the usual one.
        file: Option<String>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// The commented example; every line shows the default.
    Example,
    /// Where everything lies.
    Path {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

/// The ledger: read it, verify it, prove an entry, export it.
#[derive(Parser)]
#[command(name = "countersign ledger", bin_name = "countersign ledger")]
#[command(after_help = LEDGER_EXAMPLES)]
pub struct Ledger {
    /// What to do.
    #[command(subcommand)]
    pub what: LedgerWhat,
}

const LEDGER_EXAMPLES: &str = "\
Examples:
  countersign ledger show --from 120
  countersign ledger verify --checkpoint kept-elsewhere.txt --key 'countersign+…'
  countersign ledger export --format jsonl > ledger.jsonl
  countersign ledger verify --file ledger.jsonl --checkpoint kept.txt --key key.txt
  countersign ledger prove 17

A ledger is proved by a checkpoint that was kept where its owner could not change it. Without
one, `verify` says only that the entries are whole and in order.
Exit codes: 0 done, 1 the ledger does not hold, 2 an error.";

/// What to do with the ledger.
#[derive(Subcommand)]
pub enum LedgerWhat {
    /// Entries, oldest first.
    Show {
        /// From this one on; else the newest.
        #[arg(long, value_name = "N")]
        from: Option<u64>,
        /// At most so many.
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
    /// Check every entry, and the whole against signed checkpoints.
    Verify {
        /// Entries as JSON Lines (`-` for standard input), instead of a daemon's.
        #[arg(long, value_name = "FILE", conflicts_with = "store")]
        file: Option<String>,
        /// The store's own file, instead of a daemon's; it is only read.
        #[arg(long, value_name = "FILE")]
        store: Option<String>,
        /// A signed checkpoint that was kept elsewhere; may be given again.
        #[arg(long, value_name = "FILE", requires = "key")]
        checkpoint: Vec<String>,
        /// The verifier key, as text or in a file, as you noted it when all was well.
        #[arg(long, value_name = "VKEY")]
        key: Option<String>,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
    /// The proof that an entry stands in the ledger.
    Prove {
        /// The entry's number, from 0.
        index: u64,
        /// The verifier key, as text or in a file; else the daemon's own.
        #[arg(long, value_name = "VKEY")]
        key: Option<String>,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
    /// All entries for other programs: jsonl, csv or ocsf.
    Export {
        /// jsonl (can be verified), csv or ocsf (for security tools).
        #[arg(long, default_value = "jsonl")]
        format: String,
        /// From this one on.
        #[arg(long, value_name = "N", default_value_t = 0)]
        from: u64,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
}

/// Permits: check one without asking anybody.
#[derive(Parser)]
#[command(name = "countersign permit", bin_name = "countersign permit")]
#[command(after_help = PERMIT_EXAMPLES)]
pub struct Permit {
    /// What to do.
    #[command(subcommand)]
    pub what: PermitWhat,
}

const PERMIT_EXAMPLES: &str = "\
Examples:
  countersign permit verify permit.jws --jwks keys.json --agent my-agent \\
      --call '{\"tool\": \"send_email\", \"arguments\": {\"to\": \"team@example.com\"}}'
  countersign permit verify - --jwks http://127.0.0.1:6000/.well-known/jwks.json --agent my-agent \\
      --call @call.json < permit.jws

Whether a permit was used before cannot be seen offline: redeem it for that.
Exit codes: 0 it holds, 1 it does not, 2 an error.";

/// What to do with permits.
#[derive(Subcommand)]
pub enum PermitWhat {
    /// Check signature, call, agent and time.
    Verify {
        /// The permit's file; `-` is standard input.
        file: String,
        /// The signer's keys: a file, or `http://ADDR/.well-known/jwks.json`.
        #[arg(long, value_name = "FILE|URL")]
        jwks: String,
        /// The call that is about to run: JSON or `@file`.
        #[arg(long, value_name = "JSON")]
        call: String,
        /// The agent it is run for.
        #[arg(long, value_name = "NAME")]
        agent: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}
