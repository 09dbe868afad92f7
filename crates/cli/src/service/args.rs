//! Arguments of `service`.

use clap::{Parser, Subcommand};

/// Run the daemon as a service of systemd or launchd.
#[derive(Parser)]
#[command(name = "countersign service", bin_name = "countersign service")]
#[command(after_help = SERVICE_EXAMPLES)]
pub struct ServiceArgs {
    /// The action.
    #[command(subcommand)]
    pub what: ServiceWhat,
}

const SERVICE_EXAMPLES: &str = "\
Examples:
  countersign service install                            as you, from your next login on
  sudo countersign service install --system --own-user   as its own user: protection level R1
  sudo countersign service install --system --own-user --agent-user mia
  countersign service install --dry-run
  countersign service status

With --own-user the account `countersign` runs the daemon, and members of the group
`countersign-agents` may ask over /run/countersign/agents.sock. Everything else is closed to them.
The passphrase of `owner` is shown once, on the terminal only.
Exit codes: 0 success, 1 not installed or not running, 2 an error.";

/// The actions of `service`.
#[derive(Subcommand)]
pub enum ServiceWhat {
    /// Install and start the service.
    Install(ServiceInstall),
    /// Show whether the service is installed, runs and answers.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Exit with 0 if a daemon answers: the health check of a container.
    Health,
    /// Restart the service.
    Restart,
    /// Show the newest lines of its log.
    Logs {
        /// How many lines.
        #[arg(long, value_name = "N", default_value_t = 50)]
        lines: u32,
        /// Keep printing new lines.
        #[arg(long)]
        follow: bool,
    },
    /// Stop and remove the service; its configuration and its records stay.
    Uninstall {
        /// Print what would be done, and do nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Replace the key by which agents recognize the daemon; restart the service afterwards.
    RotateKey {
        /// Others may have the old key: it does not sign the new one.
        #[arg(long)]
        compromised: bool,
    },
    /// Create `owner` and show the passphrase, once; the daemon must be stopped.
    FirstPassphrase {
        /// The configuration file.
        #[arg(long, value_name = "FILE")]
        config: Option<String>,
        /// The folder of the store and the keys.
        #[arg(long, value_name = "DIR")]
        state: Option<String>,
        /// Succeed if there is a person already.
        #[arg(long, hide = true)]
        if_missing: bool,
    },
}

/// Install and start the service.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a command-line flag")]
pub struct ServiceInstall {
    /// A service of the system; needs root.
    #[arg(long)]
    pub system: bool,
    /// A service of this user (the default).
    #[arg(long, conflicts_with = "system")]
    pub user: bool,
    /// Create the account and the group, if they do not exist.
    #[arg(long, requires = "system")]
    pub own_user: bool,
    /// The account that runs the daemon.
    #[arg(long, value_name = "NAME", default_value = "countersign", requires = "system")]
    pub account: String,
    /// The group whose members may ask.
    #[arg(long, value_name = "NAME", default_value = "countersign-agents", requires = "system")]
    pub group: String,
    /// A user whose agents may ask: becomes a member of the group; may be repeated.
    #[arg(long, value_name = "USER", requires = "system")]
    pub agent_user: Vec<String>,
    /// Install everything, but do not start it.
    #[arg(long)]
    pub no_start: bool,
    /// Print what would be done, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
}
