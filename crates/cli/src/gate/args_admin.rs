//! Arguments of `doctor`, `config`, `keys`, `ledger` and `permit`.

use clap::{Parser, Subcommand};

use super::args::PersonArgs;

/// Say how well this installation protects you, honestly, and how to do better.
#[derive(Parser)]
#[command(name = "countersign doctor", bin_name = "countersign doctor")]
#[command(after_help = DOCTOR_EXAMPLES)]
pub struct DoctorArgs {
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

Sends a forbidden call, about which no person is asked, through the gate of every agent, every MCP
server behind the proxy and the SDKs: protected, not protected or not tested. No MCP server is
started.

Levels: R0 the agent runs as the daemon's own user, R1 the daemon has a user of its own,
R2 the daemon is on another host and the program that runs calls checks permits.
Exit codes: 0 no problem found, 1 a problem found, 2 an error.";

/// Show, pin and replace the key by which agents recognize the daemon.
///
/// The daemon signs its answers, and agents believe only the daemon whose public key is pinned.
#[derive(Parser)]
#[command(name = "countersign keys", bin_name = "countersign keys", after_help = KEYS_EXAMPLES)]
pub struct KeysArgs {
    /// The action.
    #[command(subcommand)]
    pub action: KeysAction,
}

/// The actions of `keys`.
#[derive(Subcommand)]
pub enum KeysAction {
    /// Print the key that is pinned here, and its file.
    Show {
        /// Print the key of the daemon with this state directory instead.
        #[arg(long, value_name = "DIR")]
        state: Option<String>,
        /// Create the key if there is none yet.
        #[arg(long, hide = true, requires = "state")]
        create: bool,
    },
    /// Print the statements in which replaced keys signed their successors.
    Rotations {
        /// The daemon's state directory [default: `COUNTERSIGN_STATE` or the standard path]
        #[arg(long, value_name = "DIR")]
        state: Option<String>,
    },
    /// Print the pin of the daemon's TLS key, which https addresses carry.
    Tls {
        /// Configuration file [default: `COUNTERSIGN_CONFIG` or the standard path]
        #[arg(long, value_name = "FILE")]
        config: Option<String>,
        /// The daemon's state directory [default: `COUNTERSIGN_STATE` or the standard path]
        #[arg(long, value_name = "DIR")]
        state: Option<String>,
    },
    /// Pin the key of a daemon that another user or another machine runs.
    Trust {
        /// The key's file, or `-` for standard input.
        #[arg(required_unless_present = "rotated")]
        file: Option<String>,
        /// Replace a key that is pinned already.
        #[arg(long)]
        replace: bool,
        /// Follow a rotation: the pinned key must have signed the new one. FILE holds the
        /// statements [default: ask the daemon]
        #[arg(long, conflicts_with = "replace")]
        rotated: bool,
    },
    /// Replace the daemon's key; the daemon uses the new one after a restart.
    Rotate {
        /// The daemon's state directory [default: `COUNTERSIGN_STATE` or the standard path]
        #[arg(long, value_name = "DIR")]
        state: Option<String>,
        /// Others may have the old key: it does not sign the new one.
        #[arg(long)]
        compromised: bool,
    },
}

const KEYS_EXAMPLES: &str = "\
Examples:
  countersign keys show
  ssh gate countersign keys show | countersign keys trust -
  countersign keys tls
  countersign keys rotate
  countersign keys trust --rotated
  ssh gate countersign keys rotations | countersign keys trust --rotated -

`serve` writes the public key as daemon.pub to its state folder, where this user's agents find it.
For all users of a machine `service install --system` writes it to /etc/countersign/daemon.pub.
Exit codes: 0 done, 2 an error: nothing was changed.";

/// Check the configuration, or print an example.
#[derive(Parser)]
#[command(name = "countersign config", bin_name = "countersign config")]
#[command(
    after_help = "Examples:\n  countersign config check\n  countersign config example > ~/.config/countersign/countersign.toml\n\nExit codes: 0 valid, 1 invalid, 2 an error."
)]
pub struct Config {
    /// The action.
    #[command(subcommand)]
    pub what: ConfigWhat,
}

/// The actions of `config`.
#[derive(Subcommand)]
pub enum ConfigWhat {
    /// Check the configuration, and print its meaning or its errors.
    Check {
        /// The file [default: the standard path]
        file: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the settings that let more calls run without a person, or confirm them.
    Confirm {
        /// The start of their hash (16 characters) [default: only show what waits].
        hash: Option<String>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Confirm the weaker mode that the configuration asks for.
    ConfirmMode {
        /// The mode: observe, or the one in which only the crisis rules hold.
        mode: String,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Print a commented example; every line shows the default.
    Example,
    /// Print the paths of all files.
    Path {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Read, verify, prove and export the ledger.
#[derive(Parser)]
#[command(name = "countersign ledger", bin_name = "countersign ledger")]
#[command(after_help = LEDGER_EXAMPLES)]
pub struct LedgerArgs {
    /// The action.
    #[command(subcommand)]
    pub what: LedgerWhat,
}

const LEDGER_EXAMPLES: &str = "\
Examples:
  countersign ledger show --from 120
  countersign ledger verify --checkpoint checkpoint.txt --key 'countersign+…'
  countersign ledger export --format jsonl > ledger.jsonl
  countersign ledger verify --file ledger.jsonl --checkpoint checkpoint.txt --key key.txt
  countersign ledger prove 17

Only a checkpoint that was stored elsewhere proves that a ledger was not changed. Without one,
`verify` only shows that the entries are well formed and in order.
Exit codes: 0 success, 1 the ledger is invalid, 2 an error.";

/// The actions of `ledger`.
#[derive(Subcommand)]
pub enum LedgerWhat {
    /// Show entries, oldest first.
    Show {
        /// The first entry [default: show the newest]
        #[arg(long, value_name = "N")]
        from: Option<u64>,
        /// The maximum number.
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Verify every entry, and the ledger against signed checkpoints.
    Verify {
        /// Entries as JSON Lines (`-` for standard input), instead of those of the daemon.
        #[arg(long, value_name = "FILE", conflicts_with = "store")]
        file: Option<String>,
        /// The file of the store, instead of the daemon; it is only read.
        #[arg(long, value_name = "FILE")]
        store: Option<String>,
        /// A signed checkpoint that was stored elsewhere; can be repeated.
        #[arg(long, value_name = "FILE", requires = "key")]
        checkpoint: Vec<String>,
        /// The verifier key, as text or in a file, from a trusted source.
        #[arg(long, value_name = "VKEY")]
        key: Option<String>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Accept a store that was rolled back or replaced; calls can be approved again.
    Acknowledge {
        /// Why the store is as it is; it is recorded.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Set the time of the ledger back to the system clock, after that was ahead for a while.
    RebaseClock {
        /// Why the ledger has entries of the future; it is recorded.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// The right time, e.g. 2026-11-14T23:59:59Z [default: the clock of this machine]
        #[arg(long, value_name = "TIME")]
        time: Option<String>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Prove that an entry is in the ledger.
    Prove {
        /// The index of the entry, from 0.
        index: u64,
        /// The verifier key, as text or in a file [default: the key of the daemon]
        #[arg(long, value_name = "VKEY")]
        key: Option<String>,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Export all entries as jsonl, csv or ocsf.
    Export {
        /// jsonl (can be verified), csv or ocsf (for security tools).
        #[arg(long, default_value = "jsonl")]
        format: String,
        /// The first entry.
        #[arg(long, value_name = "N", default_value_t = 0)]
        from: u64,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
}

/// Verify a permit offline.
#[derive(Parser)]
#[command(name = "countersign permit", bin_name = "countersign permit")]
#[command(after_help = PERMIT_EXAMPLES)]
pub struct Permit {
    /// The action.
    #[command(subcommand)]
    pub what: PermitWhat,
}

const PERMIT_EXAMPLES: &str = "\
Examples:
  countersign permit verify permit.jws --jwks keys.json --agent my-agent \\
      --call '{\"tool\": \"send_email\", \"arguments\": {\"to\": \"team@example.com\"}}'
  countersign permit verify - --jwks http://127.0.0.1:6000/.well-known/jwks.json --agent my-agent \\
      --call @call.json < permit.jws

Whether a permit was already used cannot be checked offline; redeem it to be sure.
Exit codes: 0 valid, 1 invalid, 2 an error.";

/// The actions of `permit`.
#[derive(Subcommand)]
pub enum PermitWhat {
    /// Verify signature, call, agent and expiry.
    Verify {
        /// The file of the permit; `-` for standard input.
        file: String,
        /// The signer's keys: a file or URL (https: with `#sha256:PIN` or `#ca:FILE`)
        #[arg(long, value_name = "FILE|URL")]
        jwks: String,
        /// The call that is about to run: JSON or `@file`.
        #[arg(long, value_name = "JSON")]
        call: String,
        /// The agent that the call is run for.
        #[arg(long, value_name = "NAME")]
        agent: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
